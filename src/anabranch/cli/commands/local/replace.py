"""Replaces the objects in a folder by those of a commit, and with them local changes."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from anabranch.cli.commands.local.download import bring, check_bring
from anabranch.cli.commands.local.link import Link, write_link
from anabranch.cli.commands.local.trees import (
    compare,
    local_tree,
    remote_tree,
    remove_partials,
    unnoticed_paths,
)
from anabranch.cli.framework.context import CommandContext
from anabranch.model.uri import LakeUri

__all__ = ["head_of", "replace_content"]


def head_of(context: CommandContext, source: LakeUri) -> str:
    """Returns the commit that a reference stands for."""
    path = ("repositories", source.repository, "commits", source.ref)
    return str(context.connection.get(*path)["id"])


def replace_content(
    context: CommandContext, link: Link, source: LakeUri, allow: Callable[[int], None], name: str
) -> Link:
    """Brings all objects of a reference into the folder and returns its new link. `allow` is called
    with the number of local changes, and raises if they must stay. Files that neither the old nor
    the new commit has are kept.
    """
    head = head_of(context, source)
    base = remote_tree(context, source.repository, link.head, link.prefix)
    theirs = remote_tree(context, source.repository, head, link.prefix)
    files = local_tree(link.folder)
    moved = compare(base, theirs)
    differ = {path for path in compare(theirs, files) if path in base or path in theirs}
    # after an interruption, files may be of either commit
    differ |= unnoticed_paths(link.folder, theirs, files, theirs if link.interrupted else ())
    lost = compare(base, files).keys() & differ & files.keys()
    lost |= unnoticed_paths(link.folder, base, files, moved)
    paths = differ | moved.keys()
    check_bring(link, files, theirs, paths)
    if lost:
        allow(len(lost))
    write_link(replace(link, interrupted=name))
    remove_partials(link.folder)
    bring(context, link, files, theirs, paths, commit=head)
    new = Link(link.folder, source, head)
    write_link(new)
    return new
