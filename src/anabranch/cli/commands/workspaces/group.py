"""`workspace`: branches for jobs and agents, with keys that reach nothing else."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.differences.diff import show_changes
from anabranch.cli.commands.references.undo import UNDONE, show_undone
from anabranch.cli.framework.address import (
    address,
    ref_address,
    ref_or_name,
    repository_address,
    same_repository,
)
from anabranch.cli.framework.command import YES, Argument, Command, Group, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import META
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

_REPOSITORY = Argument(
    "REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address
)
_WORKSPACE = Argument("WORKSPACE", "The workspace: lakefs://REPOSITORY/NAME", parse=ref_address)
_COLUMNS = (
    Column("WORKSPACE", "name"),
    Column("STATE"),
    Column("EXPIRES", "time"),
    Column("CREATOR"),
    Column("RUN"),
    Column("PURPOSE"),
)


def _create(context: CommandContext) -> None:
    options = context.arguments
    repository = options.repository.repository
    body = {
        "source": same_repository(repository, options.source),
        "expires": options.expires,
        "readable": options.readable or [],
        "writable": options.writable or [],
        "purpose": options.purpose,
        "run_id": options.run_id,
        "metadata": dict(options.metadata or []),
        "branch": options.name,
    }
    item = context.connection.send("POST", "repositories", repository, "workspaces", body=body)
    context.output.details(
        [
            *_details(repository, item),
            ("Token", item["token"], ""),
            ("Access key", item["access_key_id"], ""),
            ("Secret", item["secret_access_key"], ""),
        ],
        item,
    )


def _list(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *("repositories", options.repository.repository, "workspaces"),
        amount=options.amount,
        after=options.after or None,
    )
    context.output.rows(
        _COLUMNS,
        pages,
        lambda item: (
            item["id"],
            item["state"],
            item["expires_at"],
            item["creator"],
            item["run_id"],
            (item["purpose"].splitlines() or [""])[0],
        ),
    )
    context.output.more(pages.next_offset)


def _show(context: CommandContext) -> None:
    item = context.connection.get(*_path(context))
    context.output.details(_details(context.arguments.workspace.repository, item), item)


def _details(repository: str, item: dict[str, Any]) -> list[tuple[str, Any, str]]:
    details = [
        ("Workspace", address(repository, item["id"]), "name"),
        ("State", item["state"], ""),
        ("Expires", item["expires_at"], "time"),
        ("Source", f"{item['source']} at {item['source_commit']}", ""),
        ("Reads", ", ".join(item["readable"]) or "everything", ""),
        ("Writes", ", ".join(item["writable"]) or "nothing", ""),
        ("Creator", item["creator"], ""),
    ]
    optional = (
        ("Run", item["run_id"]),
        ("Purpose", item["purpose"]),
        ("Pull request", item["pull_request"]),
    )
    details += [(name, value, "") for name, value in optional if value]
    details += [
        ("Checkpoint", f"{each['label']} {each['commit_id']}", "") for each in item["checkpoints"]
    ]
    return details


def _checkpoint(context: CommandContext) -> None:
    options = context.arguments
    body = {"label": options.label, "message": options.message}
    item = context.connection.send("POST", *_path(context), "checkpoints", body=body)
    commit = context.output.paint(item["commit_id"], "id")
    context.output.done(f"Checkpoint {item['label']} of {_place(context)} at {commit}", item)


def _restore(context: CommandContext) -> None:
    checkpoint = context.arguments.checkpoint
    context.confirm(f"Drop what {_place(context)} has written since {checkpoint}?")
    item = context.connection.send(
        "POST", *_path(context), "restore", body={"checkpoint": checkpoint}
    )
    commit = context.output.paint(item["commit_id"], "id")
    context.output.done(f"Restored {_place(context)} to {item['label']} at {commit}", item)


def _undo(context: CommandContext) -> None:
    body = {"operation": context.arguments.id or ""}
    show_undone(context, context.connection.send("POST", *_path(context), "undo", body=body))


def _diff(context: CommandContext) -> None:
    show_changes(context, *_path(context), "diff", prefix=context.arguments.prefix or None)


def _propose(context: CommandContext) -> None:
    options = context.arguments
    destination = ""
    if options.destination is not None:
        destination = same_repository(options.workspace.repository, options.destination)
    body = {
        "destination": destination,
        "title": options.title,
        "description": options.description,
    }
    item = context.connection.send("POST", *_path(context), "proposal", body=body)
    number = context.output.paint(item["id"], "id")
    context.output.done(f"Proposed {_place(context)} as pull request {number}", item)


def _merge(context: CommandContext) -> None:
    body = {"message": context.arguments.message}
    item = context.connection.send("POST", *_path(context), "merge", body=body)
    commit = context.output.paint(item["commit_id"], "id")
    context.output.done(f"Merged {_place(context)} at {commit}", item)


def _discard(context: CommandContext) -> None:
    context.confirm(f"Delete the workspace {_place(context)} and all that it has written?")
    context.connection.send("DELETE", *_path(context))
    context.output.done(f"Deleted {_place(context)}")


def _path(context: CommandContext) -> tuple[str, ...]:
    workspace = context.arguments.workspace
    return "repositories", workspace.repository, "workspaces", workspace.ref


def _place(context: CommandContext) -> str:
    workspace = context.arguments.workspace
    return address(workspace.repository, workspace.ref)


COMMAND = Group(
    "workspace",
    "Give programs branches that end, with keys of their own",
    (
        Command(
            "create",
            "Create a workspace and show its keys, which are shown only now",
            _create,
            arguments=(_REPOSITORY,),
            options=(
                Option(
                    "-s, --source",
                    "The branch, tag or commit to start from: an address or a bare name",
                    "REF",
                    parse=ref_or_name,
                    required=True,
                ),
                Option("--expires", "How long it lives, such as 1h or 7d", "TIME", default="24h"),
                Option(
                    "--readable",
                    "Paths that its keys read, such as 'in/**'; everything by default",
                    "PATTERN",
                    repeat=True,
                ),
                Option(
                    "--writable",
                    "Paths that its keys write, such as 'out/**'; nothing by default",
                    "PATTERN",
                    repeat=True,
                ),
                Option("--purpose", "What it is for", "TEXT", default=""),
                Option("--run-id", "The run that it is for", "ID", default=""),
                META._replace(names="--metadata", help="More about it"),
                Option(
                    "--name", "The name of its branch; a random one by default", "NAME", default=""
                ),
            ),
            examples=(
                "workspace create lakefs://flights --source main --expires 1h --writable 'out/**'",
                "workspace create lakefs://flights -s main --writable 'out/**' --run-id 7 --json",
            ),
        ),
        Command(
            "list",
            "List the workspaces of a repository",
            _list,
            arguments=(_REPOSITORY,),
            options=(
                Option("--amount", "Show at most N workspaces; 100 by default", "N", positive, 100),
                Option("--after", "Show only workspaces after this name", "NAME", default=""),
            ),
            examples=("workspace list lakefs://flights",),
        ),
        Command(
            "show",
            "Show a workspace",
            _show,
            arguments=(_WORKSPACE,),
            examples=("workspace show lakefs://flights/ws-63d1f0a2b4c5e6f7",),
        ),
        Command(
            "checkpoint",
            "Commit what a workspace has written, with a label",
            _checkpoint,
            arguments=(_WORKSPACE, Argument("LABEL", "A label that it has not used yet")),
            options=(
                Option(
                    "-m, --message",
                    "The commit's message; the label by default",
                    "TEXT",
                    default="",
                ),
            ),
            examples=("workspace checkpoint lakefs://flights/ws-63d1f0a2b4c5e6f7 cleaned",),
        ),
        Command(
            "restore",
            "Move a workspace back to a checkpoint",
            _restore,
            arguments=(
                _WORKSPACE,
                Argument("CHECKPOINT", "A label, a commit, or 'source', where it began"),
            ),
            options=(YES,),
            examples=("workspace restore lakefs://flights/ws-63d1f0a2b4c5e6f7 cleaned --yes",),
        ),
        Command(
            "undo",
            "Undo a commit, a restore or a reset in a workspace",
            _undo,
            arguments=(_WORKSPACE, UNDONE),
            details="What a restore or a reset has dropped returns. Nothing else can be undone so, "
            "and with the keys of the workspace only what they have made. If something since is in "
            "the way, nothing changes and the error says what.",
            examples=(
                "workspace undo lakefs://flights/ws-63d1f0a2b4c5e6f7",
                "workspace undo lakefs://flights/ws-63d1f0a2b4c5e6f7 ffe3a1c0b2d4e9a1b2c",
            ),
        ),
        Command(
            "diff",
            "Show what a workspace has changed, committed or not",
            _diff,
            arguments=(_WORKSPACE,),
            options=(Option("--prefix", "Show only paths with this prefix", "PREFIX", default=""),),
            examples=("workspace diff lakefs://flights/ws-63d1f0a2b4c5e6f7",),
        ),
        Command(
            "propose",
            "Open a pull request of a workspace",
            _propose,
            arguments=(_WORKSPACE,),
            options=(
                Option(
                    "--destination",
                    "The branch to merge into; by default the one at which it began",
                    "BRANCH",
                    parse=ref_or_name,
                ),
                Option(
                    "-t, --title",
                    "The title; by default the purpose's first line",
                    "TEXT",
                    default="",
                ),
                Option("-d, --description", "A longer description", "TEXT", default=""),
            ),
            examples=("workspace propose lakefs://flights/ws-63d1f0a2b4c5e6f7",),
        ),
        Command(
            "merge",
            "Merge the pull request of a workspace",
            _merge,
            arguments=(_WORKSPACE,),
            options=(Option("-m, --message", "The commit's message", "TEXT", default=""),),
            details="With the keys of the workspace, only into branches that the server's setting "
            "workspaces.auto_merge names.",
            examples=("workspace merge lakefs://flights/ws-63d1f0a2b4c5e6f7",),
        ),
        Command(
            "discard",
            "Delete a workspace with its branch; its keys are refused from then on",
            _discard,
            arguments=(_WORKSPACE,),
            options=(YES,),
            examples=("workspace discard lakefs://flights/ws-63d1f0a2b4c5e6f7 --yes",),
        ),
    ),
)
