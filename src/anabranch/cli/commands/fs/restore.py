"""`fs restore`: an object, or all objects below a path, as they were at a reference.

Objects that have been changed or removed since are copied from there, which copies no bytes, and
those that were not there yet are removed. All are uncommitted changes, made one by one: a restore
that was interrupted continues when it is run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import address, same_repository
from anabranch.cli.framework.context import CommandContext
from anabranch.model.uri import LakeUri

__all__ = ["run"]

_DELETIONS = 1000


def run(context: CommandContext) -> None:
    """Restores what the argument names."""
    arguments = context.arguments
    place: LakeUri = arguments.place
    reference = same_repository(place.repository, arguments.source)
    is_prefix = arguments.recursive or place.key.endswith("/")
    if not is_prefix and not place.key:
        hint = "Add a path, or --recursive for the whole branch."
        raise Usage(f"{address(place.repository, place.ref)} names no object", hint=hint)
    changes = _changes(context, place, reference) if is_prefix else {place.key: True}
    restored = [path for path, existed in changes.items() if existed]
    removed = [path for path, existed in changes.items() if not existed]
    shown = address(place.repository, place.ref, place.key)
    if is_prefix and changes:
        context.confirm(f"Restore {len(restored)} and remove {len(removed)} objects of {shown}?")
    branch = ("repositories", place.repository, "branches", place.ref, "objects")
    for path in restored:
        body = {"src_path": path, "src_ref": reference, "shallow": True}
        context.connection.send("POST", *branch, "copy", body=body, dest_path=path)
    for start in range(0, len(removed), _DELETIONS):
        paths = removed[start : start + _DELETIONS]
        refused = context.connection.send("POST", *branch, "delete", body={"paths": paths})
        if refused["errors"]:
            first = refused["errors"][0]
            raise Failure(first["message"], paths=[each["path"] for each in refused["errors"]])
    context.output.done(
        f"Restored {len(restored)} and removed {len(removed)} objects of {shown}",
        {"restored": len(restored), "removed": len(removed)},
    )


def _changes(context: CommandContext, place: LakeUri, reference: str) -> dict[str, bool]:
    """Returns the paths that differ between a reference and the branch with what is not committed,
    and whether the reference has each.
    """
    prefix = place.key if place.key.endswith("/") or not place.key else f"{place.key}/"
    # two listings in one order: a difference of references would leave out what is not committed
    sides = [
        _list(context, ("repositories", place.repository, "refs", ref), prefix, is_wanted)
        for ref, is_wanted in ((reference, True), (place.ref, False))
    ]
    changes = {}
    for path, rows in groupby(merge(*sides, key=itemgetter(0)), itemgetter(0)):
        contents = {is_wanted: content for _, is_wanted, content in rows}
        if contents.get(True) != contents.get(False):
            changes[path] = True in contents
    return changes


def _list(
    context: CommandContext, base: tuple[str, ...], prefix: str, is_wanted: bool
) -> Iterator[tuple[str, bool, Any]]:
    for each in context.connection.pages(*base, "objects", "ls", prefix=prefix):
        metadata = each.get("metadata") or {}
        content = (each["checksum"], each["physical_address"], each.get("content_type"), metadata)
        yield each["path"], is_wanted, content
