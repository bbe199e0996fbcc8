"""`actions`: validate action files, run hooks by hand, and read the runs of hooks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from anabranch.cli.errors import Failure, file_failure
from anabranch.cli.framework.address import ref_address, repository_address
from anabranch.cli.framework.command import Argument, Command, Group, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable
from anabranch.cli.output.table import Column
from anabranch.errors import Invalid

__all__ = ["COMMAND"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)
RUN = Argument("RUN", "The id of a run")

_RUN_COLUMNS = (
    Column("RUN", "id"),
    Column("EVENT", ""),
    Column("BRANCH", "name"),
    Column("STATUS", ""),
    Column("STARTED", ""),
    Column("COMMIT", "id"),
)
_HOOK_COLUMNS = (
    Column("HOOK RUN", "id"),
    Column("ACTION", "name"),
    Column("HOOK", "name"),
    Column("STATUS", ""),
)
_STANDARD_INPUT = "-"


def _validate(context: CommandContext) -> None:
    from anabranch.actions.files.action_file import (  # noqa: PLC0415  a server is not needed
        parse_action_file,
        require_distinct_names,
    )
    from anabranch.actions.hooks.registry import make_hook  # noqa: PLC0415

    actions, errors = [], []
    for name in context.arguments.file:
        try:
            actions.append(parse_action_file(_content(name), name, make_hook))
        except Invalid as error:
            errors.append(error)
    try:
        require_distinct_names(actions)
    except Invalid as error:
        errors.append(error)
    for other in errors[1:]:
        context.output.note(printable(other.message))
    if errors:
        raise Failure(errors[0].message, kind=errors[0].kind, hint=errors[0].hint)
    item = [
        {"file": each.file, "name": each.name, "events": list(each.on), "hooks": len(each.hooks)}
        for each in actions
    ]
    if context.output.json:
        context.output.document(item)
        return
    for each in actions:
        hooks = "1 hook" if len(each.hooks) == 1 else f"{len(each.hooks)} hooks"
        context.output.line(printable(f"{each.file}: {each.name}: {hooks} on {', '.join(each.on)}"))


def _content(name: str) -> bytes:
    if name == _STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise file_failure(error) from error


def _run(context: CommandContext) -> None:
    given = context.arguments
    body = {
        "ref": given.ref.ref,
        "event_type": given.event,
        "action": given.action,
        "branch": given.branch,
        "base": given.base,
    }
    item = context.connection.send(
        *("POST", "repositories", given.ref.repository, "actions", "trigger"), body=body
    )
    if context.output.json:
        context.output.document(item)
    else:
        context.output.rows(_HOOK_COLUMNS, item["hooks"], _hook_cells)
        if item["run_id"]:
            context.output.note(f"run {item['run_id']}")
        elif not item["hooks"]:
            context.output.note("no action runs on this event")
    if item["failures"]:
        raise Failure(
            "; ".join(item["failures"]),
            kind="hook_failed",
            hint=f"anabranch actions logs lakefs://{given.ref.repository} {item['run_id']}",
        )


def _list(context: CommandContext) -> None:
    given = context.arguments
    pages = context.connection.pages(
        *("repositories", given.repository.repository, "actions", "runs"),
        amount=given.amount,
        after=given.after or None,
        branch=given.branch or None,
        commit=given.commit or None,
    )
    context.output.rows(
        _RUN_COLUMNS,
        pages,
        lambda item: (
            item["run_id"],
            item["event_type"],
            item["branch"],
            item["status"],
            item["start_time"],
            item["commit_id"],
        ),
    )
    context.output.more(pages.next_offset)


def _show(context: CommandContext) -> None:
    item = context.connection.get(*_run_path(context))
    hooks = list(context.connection.pages(*_run_path(context), "hooks"))
    if context.output.json:
        context.output.document({**item, "hooks": hooks})
        return
    details = [
        ("Run", item["run_id"], "id"),
        ("Event", item["event_type"], ""),
        ("Branch", item["branch"], "name"),
        ("Commit", item["commit_id"], "id"),
        ("Status", item["status"], ""),
        ("Started", item["start_time"], ""),
        ("Ended", item["end_time"], ""),
    ]
    context.output.details([each for each in details if each[1]], item)
    context.output.line()
    context.output.rows(_HOOK_COLUMNS, hooks, _hook_cells)


def _logs(context: CommandContext) -> None:
    wanted = context.arguments.hook_run
    hooks = [
        hook
        for hook in context.connection.pages(*_run_path(context), "hooks")
        if wanted in {None, hook["hook_run_id"]}
    ]
    if wanted is not None and not hooks:
        raise Failure(f"the run has no hook {wanted}", kind="hook_run_not_found")
    outputs = [(hook, _output(context, hook["hook_run_id"])) for hook in hooks]
    if context.output.json:
        context.output.document([{**hook, "output": output} for hook, output in outputs])
        return
    for hook, output in outputs:
        if wanted is None:
            title = f"{hook['hook_run_id']} {hook['action']}, {hook['hook_id']}: {hook['status']}"
            context.output.line(printable(title))
        for line in output.splitlines():
            context.output.line(printable(line))


def _output(context: CommandContext, hook_run_id: str) -> str:
    path = (*_run_path(context), "hooks", hook_run_id, "output")
    with context.connection.download(*path) as content:
        return b"".join(content.chunks).decode("utf-8", "replace")


def _run_path(context: CommandContext) -> tuple[str, ...]:
    given = context.arguments
    return "repositories", given.repository.repository, "actions", "runs", given.run


def _hook_cells(item: dict[str, Any]) -> tuple[Any, ...]:
    return item["hook_run_id"], item["action"], item["hook_id"], item["status"]


COMMAND = Group(
    "actions",
    "Validate action files; run hooks; show their runs",
    (
        Command(
            "validate",
            "Check action files, without a server",
            _validate,
            arguments=(Argument("FILE", "Action files; - for the standard input", repeat=True),),
            examples=("actions validate _lakefs_actions/good_files.yaml",),
        ),
        Command(
            "run",
            "Run hooks on a branch, tag or commit",
            _run,
            arguments=(
                Argument("REF", "What they examine: lakefs://REPOSITORY/REF", parse=ref_address),
            ),
            options=(
                Option("--event", "Run the hooks of this event", "EVENT", default=""),
                Option("--action", "Run the hooks of this action", "NAME", default=""),
                Option("--branch", "The branch of the event; by default REF", "BRANCH", default=""),
                Option(
                    "--base",
                    "What hooks compare REF with; by default the commit before",
                    "REF",
                    default="",
                ),
            ),
            examples=(
                "actions run lakefs://flights/main --event pre-commit",
                "actions run lakefs://flights/dev --action 'good files' --base main",
            ),
        ),
        Command(
            "list",
            "List the runs of a repository's hooks, the newest first",
            _list,
            arguments=(REPOSITORY,),
            options=(
                Option("--branch", "Show only runs of this branch", "BRANCH", default=""),
                Option("--commit", "Show only runs of this commit", "COMMIT", default=""),
                Option("--amount", "Show at most N runs", "N", parse=positive, default=100),
                Option("--after", "Show only runs after this one, in order", "RUN", default=""),
            ),
            examples=("actions list lakefs://flights --branch main",),
        ),
        Command(
            "show",
            "Show a run and its hooks",
            _show,
            arguments=(REPOSITORY, RUN),
            examples=("actions show lakefs://flights 4om7s2teoc4u72tu91n0",),
        ),
        Command(
            "logs",
            "Show what the hooks of a run have written",
            _logs,
            arguments=(
                REPOSITORY,
                RUN,
                Argument("HOOK-RUN", "Only this hook, such as 0000_0000", optional=True),
            ),
            examples=("actions logs lakefs://flights 4om7s2teoc4u72tu91n0",),
        ),
    ),
)
