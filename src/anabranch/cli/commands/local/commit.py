"""`local commit`: commits the local changes of a folder to its branch.

If the branch has not moved, they are written to it and committed. Otherwise they are committed to a
hidden branch at the folder's commit, which the server merges into the branch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from anabranch.cli.commands.commits.merge import settling
from anabranch.cli.commands.local.download import bring, check_bring
from anabranch.cli.commands.local.link import (
    Link,
    check_complete,
    exclusive,
    read_link,
    write_link,
)
from anabranch.cli.commands.local.temporary_branch import merge_on_server, temporary_branch
from anabranch.cli.commands.local.trees import (
    Tree,
    compare,
    local_tree,
    remote_tree,
    unnoticed_paths,
)
from anabranch.cli.commands.local.upload import send_changes
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import pairs

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Commits the changes of the folder, and brings those of the branch into it."""
    options = context.arguments
    if not options.message and not options.allow_empty_message:
        raise Usage(
            "a commit needs a message",
            hint="Add -m 'what changed and why', or --allow-empty-message.",
        )
    body = {"message": options.message, "metadata": pairs(options.meta)}
    link = read_link(Path(options.dir or "."))
    with exclusive(link.folder):
        check_complete(link)
        files = local_tree(link.folder)
        base = remote_tree(context, link.source.repository, link.head, link.prefix)
        changes = list(compare(base, files))
        if not changes:
            raise Failure("the folder has no changes", kind="no_changes")
        commit, kept = None, set(changes)
        if _head(context, link) == link.head:
            commit = _commit(context, link, files, changes, body)
        if commit is None:
            commit, kept = _merge(context, link, files, changes, body), set()
        _follow(context, link, base, files, commit, kept)
    place = address(link.source.repository, link.source.ref)
    count = "1 change" if len(changes) == 1 else f"{len(changes)} changes"
    context.output.done(
        f"Committed {count} to {place} at {context.output.paint(commit, 'id')}",
        {"id": commit, "changes": len(changes)},
    )


def _head(context: CommandContext, link: Link) -> str:
    path = ("repositories", link.source.repository, "branches", link.source.ref)
    return str(context.connection.get(*path)["commit_id"])


def _commit(
    context: CommandContext, link: Link, files: Tree, changes: list[str], body: dict[str, Any]
) -> str | None:
    """Returns the commit of the changes on the branch, None if it has moved in the meantime. After
    a failure, the branch has none of the changes.
    """
    branch = ("repositories", link.source.repository, "branches", link.source.ref)
    sent = {link.prefix + path for path in changes}
    uncommitted = _uncommitted_paths(context, link)
    if replaced := uncommitted & sent:
        raise _dirty(replaced, "Commit them or `anabranch branch reset` the branch first.")
    _check_clean(context, uncommitted)
    try:
        send_changes(context, link, files, changes, branch=link.source.ref)
        if _head(context, link) == link.head:
            _check_clean(context, _uncommitted_paths(context, link) - sent)
            return str(context.connection.send("POST", *branch, "commits", body=body)["id"])
    except BaseException:
        _take_back(context, link, changes)
        raise
    _take_back(context, link, changes)
    return None


def _uncommitted_paths(context: CommandContext, link: Link) -> set[str]:
    """Returns the paths that have uncommitted changes on the branch."""
    diff = ("repositories", link.source.repository, "branches", link.source.ref, "diff")
    return {item["path"] for item in context.connection.pages(*diff)}


def _check_clean(context: CommandContext, others: set[str]) -> None:
    """Raises Failure if a commit would include uncommitted changes of others unasked."""
    if others and not context.arguments.force:
        raise _dirty(
            others,
            "Commit them or `anabranch branch reset` the branch first, or add --force to commit "
            "them, too.",
        )


def _dirty(paths: set[str], hint: str) -> Failure:
    return Failure(
        "the branch has uncommitted changes", kind="dirty_branch", hint=hint, paths=sorted(paths)
    )


def _take_back(context: CommandContext, link: Link, changes: list[str]) -> None:
    """Removes the uncommitted changes that were sent to the branch."""
    branch = ("repositories", link.source.repository, "branches", link.source.ref)
    for path in changes:
        body = {"type": "object", "path": link.prefix + path}
        try:
            context.connection.send("PUT", *branch, body=body)
        except Failure as failure:
            if failure.kind == "not_found":
                continue
            if failure.kind == "protected_branch":
                return
            context.output.note(f"uncommitted changes may be left: {failure.message}")
            return


def _merge(
    context: CommandContext, link: Link, files: Tree, changes: list[str], body: dict[str, Any]
) -> str:
    """Returns the commit that merges the changes into the branch."""
    with temporary_branch(context, link) as branch:
        send_changes(context, link, files, changes, branch=branch)
        path = ("repositories", link.source.repository, "branches", branch, "commits")
        context.connection.send("POST", *path, body=body)
        try:
            return merge_on_server(
                context, link, branch, link.source.ref, {**body, **settling(context)}
            )
        except Failure as failure:
            if failure.kind != "no_changes":
                raise
            # the branch has them already, such as after an interrupt that followed the merge
            return _head(context, link)


def _follow(
    context: CommandContext, link: Link, base: Tree, files: Tree, commit: str, kept: set[str]
) -> None:
    """Brings what the commit has besides the files that were sent. Files that changed in the
    meantime stay, as local changes, and those `kept`: if the commit has others in their place,
    somebody wrote to the branch at the same moment.
    """
    tree = remote_tree(context, link.source.repository, commit, link.prefix)
    now = local_tree(link.folder)
    differ = {*compare(files, tree), *unnoticed_paths(link.folder, tree, now, compare(base, tree))}
    paths = {path for path in differ - kept if now.get(path) == files.get(path)}
    check_bring(link, now, tree, paths)
    bring(context, link, now, tree, paths, commit=commit)
    write_link(replace(link, head=commit))
    if replaced := differ & kept:
        raise Failure(
            f"others wrote to the branch at the same time: the commit {commit} has their objects",
            kind="conflict",
            hint="Your files are kept, as local changes: see `anabranch local status`.",
            paths=sorted(replaced),
        )
