"""`local status` and `local list`: what changed, and which folders are linked."""

from __future__ import annotations

from pathlib import Path

from anabranch.cli.commands.local.link import check_complete, linked_below, read_link
from anabranch.cli.commands.local.replace import head_of
from anabranch.cli.commands.local.trees import compare, local_tree, remote_tree
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["listing", "status"]

_CHANGES = (Column("SOURCE"), Column("CHANGE"), Column("PATH", "name"))
_LINKS = (Column("FOLDER", "name"), Column("ADDRESS", "name"), Column("COMMIT", "id"))


def status(context: CommandContext) -> None:
    """Lists the changes of the folder, and those of the branch since the folder's commit. Raises
    Failure, after the list, if an operation was interrupted: objects that the folder does not have
    yet are no changes then.
    """
    link = read_link(Path(context.arguments.dir or "."))
    repository = link.source.repository
    base = remote_tree(context, repository, link.head, link.prefix)
    files = local_tree(link.folder)
    local = compare(base, files)
    if link.interrupted:
        local = {path: change for path, change in local.items() if change != "removed"}
    remote: dict[str, str] = {}
    if not context.arguments.local:
        head = head_of(context, link.source)
        if head != link.head:
            theirs = remote_tree(context, repository, head, link.prefix)
            remote = compare(base, theirs)
            if link.interrupted:
                # what it has brought already is no change of the folder
                local = {path: local[path] for path in local.keys() & compare(theirs, files)}
    items = []
    for path in sorted(local.keys() | remote.keys()):
        if path in local and path in remote:
            items.append({"source": "both", "change": "conflict", "path": path})
        elif path in local:
            items.append({"source": "local", "change": local[path], "path": path})
        else:
            items.append({"source": "remote", "change": remote[path], "path": path})
    if context.output.terminal and not items and not link.interrupted:
        context.output.line("No changes")
        return
    context.output.rows(_CHANGES, items, lambda item: tuple(item.values()))
    check_complete(link)


def listing(context: CommandContext) -> None:
    """Lists the linked folders below a folder."""
    items = [
        {"folder": str(link.folder), "src": str(link.source), "at_head": link.head}
        for link in linked_below(Path(context.arguments.dir or "."))
    ]
    context.output.rows(_LINKS, items, lambda item: tuple(item.values()))
