"""`log`: the history of a branch, tag or commit, as a list or as a graph."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from anabranch.cli.commands.commits.log_filter import META_FILTER, CommitFilter
from anabranch.cli.framework.address import ref_address
from anabranch.cli.framework.command import Argument, Command, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import iso_time, local_time, printable
from anabranch.cli.output.graph import Node, draw
from anabranch.cli.output.history import commit_lines, in_drawing_order, simplify

__all__ = ["COMMAND"]

_SHORT_ID = 12
_LANES = ("31", "32", "33", "34", "35", "36")


def _log(context: CommandContext) -> None:
    if context.arguments.graph and not context.output.json:
        _draw(context)
        return
    history = _History(context)
    if context.output.json:
        context.output.rows((), history, tuple)
    else:
        _print(context, history)
    if not context.arguments.limit:
        context.output.more(history.next_offset)


class _History:
    """The commits to show, newest first. `next_offset` is the position of the next one, if any."""

    def __init__(self, context: CommandContext) -> None:
        self._filter = CommitFilter.of(context.arguments)
        self._amount = context.arguments.amount
        self._pages = _pages(
            context, filtered=True, amount=None if self._filter.leaves_out else self._amount
        )
        self.next_offset = ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        shown = 0
        last = ""
        for commit in self._pages:
            if not self._filter.shows(commit):
                continue
            if shown == self._amount:
                self.next_offset = last
                return
            yield commit
            shown += 1
            last = commit["id"]
        self.next_offset = self._pages.next_offset


def _pages(context: CommandContext, *, filtered: bool, amount: int | None = None) -> Any:
    options = context.arguments
    return context.connection.pages(
        *("repositories", options.ref.repository, "refs", options.ref.ref, "commits"),
        amount=amount,
        after=options.after or None,
        objects=options.objects or None if filtered else None,
        prefixes=options.prefixes or None if filtered else None,
        first_parent="true" if options.first_parent else None,
        since=options.since,
        stop_at=options.stop_at,
        limit="true" if options.limit and amount else None,
    )


def _print(context: CommandContext, commits: Iterable[dict[str, Any]]) -> None:
    output = context.output
    when = local_time if output.terminal else iso_time
    first = True
    with output.paged():
        for commit in commits:
            if not first:
                output.line()
            first = False
            output.line(output.paint(f"commit {commit['id']}", "id"))
            lines = commit_lines(commit, when(commit["creation_date"]))
            if context.arguments.show_meta_range_id:
                lines.insert(0, f"Metarange: {commit['meta_range_id']}")
            for line in lines:
                output.line(printable(line))


def _draw(context: CommandContext) -> None:
    output = context.output
    history = _History(context)
    commits = {commit["id"]: commit for commit in history}
    nodes = in_drawing_order(_nodes(context, commits))
    refs = _refs_by_commit(context)
    rows = list(draw(nodes))
    with output.paged():
        for picture, commit in rows:
            text = _colour(picture) if output.colour else picture
            if commit is not None:
                text += f"  {_summary(context, commits[commit], refs[commit])}"
            output.line(text)
    if not context.arguments.limit:
        output.more(history.next_offset)


def _nodes(context: CommandContext, commits: dict[str, dict[str, Any]]) -> list[Node]:
    """Returns the commits with edges to their parents or, if commits between them are left out, to
    the nearest ancestors shown.
    """
    options = context.arguments
    everything: Iterable[dict[str, Any]] = commits.values()
    leaves_out = CommitFilter.of(options).leaves_out or options.objects or options.prefixes
    if leaves_out:
        everything = _pages(context, filtered=False)
    parents = slice(1 if options.first_parent else None)
    nodes = [Node(commit["id"], tuple(commit["parents"][parents])) for commit in everything]
    return simplify(nodes, set(commits)) if leaves_out else nodes


def _refs_by_commit(context: CommandContext) -> dict[str, list[str]]:
    """Returns the names of branches and tags by commit, the first thousand of each kind."""
    repository = context.arguments.ref.repository
    names = defaultdict(list)
    for kind, label in (("branches", ""), ("tags", "tag: ")):
        for ref in context.connection.pages("repositories", repository, kind, amount=1000):
            names[ref["commit_id"]].append(label + ref["id"])
    return names


def _summary(context: CommandContext, commit: dict[str, Any], refs: list[str]) -> str:
    output = context.output
    when = local_time if output.terminal else iso_time
    subject = next(iter(commit["message"].splitlines()), "")
    names = output.paint(f"({', '.join(refs)}) ", "name") if refs else ""
    who = f"{commit['committer']}, " if commit["committer"] else ""
    note = output.paint(printable(f"({who}{when(commit['creation_date'])})"), "dim")
    return f"{output.paint(commit['id'][:_SHORT_ID], 'id')} {names}{printable(subject)} {note}"


def _colour(picture: str) -> str:
    """Returns the graph with each lane in its own colour."""
    return "".join(
        stroke if stroke == " " else f"\x1b[{_LANES[index // 2 % len(_LANES)]}m{stroke}\x1b[0m"
        for index, stroke in enumerate(picture)
    )


def _date(text: str) -> str:
    """Returns a date, or a date and time, as RFC 3339. Without a time zone it is in local time."""
    moment = dt.datetime.fromisoformat(text).astimezone(dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


COMMAND = Command(
    "log",
    "Show the history of a branch, tag or commit",
    _log,
    arguments=(
        Argument("REF", "A branch, tag or commit: lakefs://REPOSITORY/REF", parse=ref_address),
    ),
    options=(
        Option("--graph", "Draw the history as a graph"),
        Option("--amount", "Show at most N commits; all of them by default", "N", parse=positive),
        Option("--after", "Show only commits after this one", "COMMIT", default=""),
        Option("--limit", "Do not check whether there are more commits than --amount"),
        Option("--first-parent", "Follow only the first parent of merges"),
        Option("--no-merges", "Leave out commits with several parents"),
        Option("--since", "Show only commits since this date or time", "TIME", parse=_date),
        Option("--until", "Show only commits until this date or time", "TIME", parse=_date),
        Option("--committer", "Show only commits whose committer contains this text", "TEXT"),
        Option("--message", "Show only commits whose message contains this text", "TEXT"),
        META_FILTER,
        Option("--stop-at", "Show no commits after this one", "COMMIT"),
        Option("--objects", "Show only commits that changed this object", "PATH", repeat=True),
        Option(
            "--prefixes",
            "Show only commits that changed objects with this prefix",
            "PREFIX",
            repeat=True,
        ),
        Option("--show-meta-range-id", "Show the identifier of each commit's tree, too"),
    ),
    examples=(
        "log lakefs://flights/main --amount 10",
        "log lakefs://flights/main --graph",
        "log lakefs://flights/main --prefixes month=05/ --since 2026-01-01",
        "log lakefs://flights/main --committer ada --meta job=nightly",
    ),
)
