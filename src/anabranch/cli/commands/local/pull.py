"""`local pull`: brings what changed on the branch into the folder, beside local changes.

Paths that changed on both sides are merged by the server: the local ones are committed to a hidden
branch, and the branch's head is merged into it, with the rules that apply to every merge.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from anabranch.cli.commands.commits.merge import settling
from anabranch.cli.commands.local.download import bring, check_bring
from anabranch.cli.commands.local.link import (
    PULL,
    Link,
    check_complete,
    exclusive,
    read_link,
    write_link,
)
from anabranch.cli.commands.local.replace import head_of, replace_content
from anabranch.cli.commands.local.temporary_branch import merge_on_server, temporary_branch
from anabranch.cli.commands.local.trees import (
    Tree,
    compare,
    has_content,
    local_tree,
    remote_tree,
)
from anabranch.cli.commands.local.upload import send_changes
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable

__all__ = ["run"]


class _Sides(NamedTuple):
    """The folder's commit, the branch's head with its objects, and the files."""

    link: Link
    head: str
    base: Tree
    theirs: Tree
    files: Tree


def run(context: CommandContext) -> None:
    """Pulls into the folder; with --force, also over local changes."""
    link = read_link(Path(context.arguments.dir or "."))
    with exclusive(link.folder):
        if context.arguments.force:
            new = replace_content(context, link, link.source, lambda _count: None, PULL)
            _print_summary(context, new)
            return
        if link.interrupted != PULL:
            check_complete(link)
        repository, head = link.source.repository, head_of(context, link.source)
        sides = _Sides(
            link,
            head,
            remote_tree(context, repository, link.head, link.prefix),
            remote_tree(context, repository, head, link.prefix),
            local_tree(link.folder),
        )
        _pull(context, sides)
        new = replace(link, head=head, interrupted="")
        write_link(new)
        _print_summary(context, new)


def _pull(context: CommandContext, sides: _Sides) -> None:
    link, head, base, theirs, files = sides
    remote = set(compare(base, theirs))
    # by content, because neither a new time alone nor an old one decides what may be replaced
    local = {path for path in remote if not _is_equal(link, base, files, path)}
    equal = {path for path in local if _is_equal(link, theirs, files, path)}
    conflicts = local - equal
    # checked as if the branch won everywhere, before anything is sent or changed
    check_bring(link, files, theirs, remote)
    if conflicts:
        _merge(context, sides, remote - local, sorted(conflicts))
    else:
        write_link(replace(link, interrupted=PULL))
        bring(context, link, files, theirs, remote - local, commit=head)
    for path in equal & theirs.keys():
        os.utime(link.folder / path, (theirs[path].mtime, theirs[path].mtime))


def _is_equal(link: Link, tree: Tree, files: Tree, path: str) -> bool:
    """Returns whether the folder has a path as the tree has it, apart from the time."""
    if path in tree and path in files:
        return has_content(link.folder / path, tree[path])
    return path not in tree and path not in files


def _checksum(tree: Tree, path: str) -> str:
    """Returns the checksum of an object, "" without one."""
    return tree[path].checksum if path in tree else ""


def _merge(context: CommandContext, sides: _Sides, remote: set[str], conflicts: list[str]) -> None:
    """Brings the branch's changes, and the conflicting paths as the server merges them."""
    link, head, _, theirs, files = sides
    repository = link.source.repository
    with temporary_branch(context, link) as branch:
        send_changes(context, link, files, conflicts, branch=branch)
        commits = ("repositories", repository, "branches", branch, "commits")
        context.connection.send("POST", *commits, body={"message": "Local changes"})
        # the branch may bring nothing but the same content
        body = {**settling(context), "allow_empty": True}
        commit = merge_on_server(context, link, head, branch, body)
        result = remote_tree(context, repository, commit, link.prefix)
        # a merged file is a local change: its time must differ from that of the branch's object
        after = 1 + max(int(time.time()), *(entry.mtime for entry in theirs.values()), 0)
        new = {path: replace(result[path], mtime=after) for path in conflicts if path in result}
        ours = {path for path in conflicts if _checksum(result, path) != _checksum(theirs, path)}
        final = {path: entry for path, entry in theirs.items() if path not in conflicts} | new
        check_bring(link, files, final, remote | set(conflicts))
        kept = {path for path in ours if _is_equal(link, new, files, path)}
        write_link(replace(link, interrupted=PULL))
        for path in kept & new.keys() & theirs.keys():
            if files[path].mtime == theirs[path].mtime:
                os.utime(link.folder / path, (new[path].mtime, new[path].mtime))
        bring(context, link, files, theirs, remote | (set(conflicts) - ours), commit=head)
        bring(context, link, files, new, ours - kept, commit=commit)


def _print_summary(context: CommandContext, link: Link) -> None:
    context.output.done(
        f"{printable(str(link.folder))} is at {link.head}",
        {"folder": str(link.folder), "src": str(link.source), "at_head": link.head},
    )
