"""`bisect`: find the first bad commit by testing few commits of a history."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from anabranch.cli.commands.bisect import state
from anabranch.cli.commands.bisect.bisection import Bisection
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import address, ref_address, ref_or_name, same_repository
from anabranch.cli.framework.command import Argument, Command, Group
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable

__all__ = ["COMMAND"]

_CANNOT_TEST, _FIRST_ABORTING = 125, 128


def _start(context: CommandContext) -> None:
    bad_ref = context.arguments.bad
    repository = bad_ref.repository
    goods = [same_repository(repository, good) for good in context.arguments.good]
    path = ("repositories", repository)
    bad = context.connection.get(*path, "commits", bad_ref.ref)["id"]
    known: set[str] = set()
    for good in goods:
        known.update(commit["id"] for commit in _history(context, repository, good))
    commits = [each for each in _history(context, repository, bad) if each["id"] not in known]
    if not commits:
        raise Usage(
            "the bad commit is in the history of a good one",
            hint="Name the bad commit first, then the good ones.",
        )
    bisection = Bisection(
        repository=repository,
        bad=bad,
        parents={commit["id"]: commit["parents"] for commit in commits},
        messages={commit["id"]: _subject(commit) for commit in commits},
    )
    state.write(context, bisection)
    _show(context, bisection)


def _history(context: CommandContext, repository: str, ref: str) -> list[dict[str, Any]]:
    return list(context.connection.pages("repositories", repository, "refs", ref, "commits"))


def _subject(commit: dict[str, Any]) -> str:
    return next(iter(commit["message"].splitlines()), "")


def _good(context: CommandContext) -> None:
    _mark(context, "good")


def _bad(context: CommandContext) -> None:
    _mark(context, "bad")


def _skip(context: CommandContext) -> None:
    _mark(context, "skip")


def _mark(context: CommandContext, verdict: str) -> None:
    bisection = state.read(context)
    commit_id = ""
    if context.arguments.commit is not None:
        ref = same_repository(bisection.repository, context.arguments.commit)
        commit_id = context.connection.get("repositories", bisection.repository, "commits", ref)[
            "id"
        ]
        if commit_id not in bisection.parents:
            raise Usage(
                f"{ref} is not one of the commits that may be the first bad one",
                hint="`anabranch bisect view` lists them.",
            )
        if commit_id == bisection.bad and verdict != "bad":
            raise Usage(f"{ref} was found to be bad")
    elif bisection.first_bad:
        raise Failure("no commit is left to test", kind="bisection_finished")
    bisection = bisection.mark(verdict, commit_id or bisection.next())
    state.write(context, bisection)
    _show(context, bisection)


def _run(context: CommandContext) -> int | None:
    """Tests commits by a command until the first bad one is found."""
    bisection = state.read(context)
    command = context.arguments.command
    while not bisection.first_bad:
        commit_id = bisection.next()
        place = address(bisection.repository, commit_id)
        context.output.err.write(f"Testing {place} {printable(bisection.messages[commit_id])}\n")
        context.output.err.flush()
        words = [word.replace("{}", place) for word in command]
        try:
            code = subprocess.run(
                words, env={**os.environ, "ANABRANCH_BISECT_COMMIT": place}, check=False
            ).returncode
        except OSError as error:
            raise Failure(f"{words[0]}: {error.strerror}", kind="command_failed") from error
        if code < 0 or code >= _FIRST_ABORTING:
            raise Failure(
                f"the command ended with {code}: the search was stopped at {place}",
                kind="command_failed",
                hint="Exit codes: 0 good, 125 cannot be tested, 1 to 127 bad.",
            )
        verdict = "good" if code == 0 else "skip" if code == _CANNOT_TEST else "bad"
        bisection = bisection.mark(verdict, commit_id)
        state.write(context, bisection)
    _show(context, bisection)
    return None


def _view(context: CommandContext) -> None:
    bisection = state.read(context)
    rows = [{"id": key, "message": bisection.messages[key]} for key in bisection.parents]
    if context.output.json:
        context.output.rows((), rows, tuple)
        return
    for row in rows:
        note = {bisection.bad: " (bad)"}.get(row["id"], "")
        note = " (skipped)" if row["id"] in bisection.skipped else note
        identifier = context.output.paint(row["id"], "id")
        context.output.line(f"{identifier}{note} {printable(row['message'])}")


def _log(context: CommandContext) -> None:
    for verdict, commit_id in state.read(context).log:
        context.output.line(f"{verdict}\t{commit_id}")


def _reset(context: CommandContext) -> None:
    if not state.remove(context):
        context.output.done("No search was under way", {"removed": False})
        return
    context.output.done("Ended the search", {"removed": True})


def _show(context: CommandContext, bisection: Bisection) -> None:
    """Prints the first bad commit or, as long as it is unknown, the commit to test."""
    place = bisection.repository
    found = [
        {"id": key, "uri": address(place, key), "message": bisection.messages[key]}
        for key in bisection.first_bad
    ]
    if found:
        words = "is the first bad commit" if len(found) == 1 else "may be the first bad commit"
        lines = [
            f"{context.output.paint(each['uri'], 'id')} {words}: {printable(each['message'])}"
            for each in found
        ]
        context.output.done("\n".join(lines), {"first_bad": found, "remaining": 0})
        return
    commit_id = bisection.next()
    uri, message = address(place, commit_id), bisection.messages[commit_id]
    remaining = len(bisection.untested())
    context.output.done(
        f"Test {context.output.paint(uri, 'id')} {printable(message)}\n"
        f"{remaining} {'commits are' if remaining > 1 else 'commit is'} left to test",
        {"next": {"id": commit_id, "uri": uri, "message": message}, "remaining": remaining},
    )


_COMMIT = Argument(
    "COMMIT", "A commit, by default the one to test", optional=True, parse=ref_or_name
)

COMMAND = Group(
    "bisect",
    "Find the first bad commit by testing few commits",
    (
        Command(
            "start",
            "Start a search between a bad commit and good ones",
            _start,
            arguments=(
                Argument("BAD", "A bad commit: lakefs://REPOSITORY/REF", parse=ref_address),
                Argument(
                    "GOOD",
                    "A good commit: an address or a bare name",
                    parse=ref_or_name,
                    repeat=True,
                ),
            ),
            examples=("bisect start lakefs://flights/main lakefs://flights/v1.0",),
        ),
        Command(
            "good",
            "Mark a commit as good",
            _good,
            arguments=(_COMMIT,),
            examples=("bisect good", "bisect good main~3"),
        ),
        Command(
            "bad",
            "Mark a commit as bad",
            _bad,
            arguments=(_COMMIT,),
            examples=("bisect bad",),
        ),
        Command(
            "skip",
            "Mark a commit as one that cannot be tested",
            _skip,
            arguments=(_COMMIT,),
            examples=("bisect skip",),
        ),
        Command(
            "run",
            "Test commits by a command until the first bad one is found",
            _run,
            arguments=(
                Argument(
                    "COMMAND",
                    "The command and its arguments, in which {} is replaced by the commit's "
                    "address; also in ANABRANCH_BISECT_COMMIT",
                    repeat=True,
                ),
            ),
            details="The command's exit code is 0 for a good commit, 125 for one that cannot be "
            "tested, and 1 to 127 for a bad one, as for `git bisect run`. Any other code stops the "
            "search.",
            examples=("bisect run -- python check_flights.py {}",),
        ),
        Command(
            "view",
            "List the commits that may be the first bad one",
            _view,
            examples=("bisect view",),
        ),
        Command("log", "Show the commits that were marked", _log, examples=("bisect log",)),
        Command("reset", "End the search", _reset, examples=("bisect reset",)),
    ),
    details="The search is kept in a file next to the client's settings until it is ended.",
)
