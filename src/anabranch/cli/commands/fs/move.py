"""`fs mv` and `fs cp`: move and copy objects inside the lake; the client transfers no bytes.

A refused one changes nothing. Within a branch, either is one step; a move between branches copies
first and then removes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext
from anabranch.model.uri import LakeUri

__all__ = ["copy", "move"]


def move(context: CommandContext) -> None:
    """Moves the object or prefix of the first argument to the second."""
    source, destination = _targets(context)
    count = _transfer(context, "moves", source, destination)
    _report(context, "Moved", source, destination, count)


def copy(context: CommandContext) -> None:
    """Copies the object or prefix of the first argument to the second."""
    source, destination = _targets(context)
    count = _transfer(context, "copies", source, destination)
    _report(context, "Copied", source, destination, count)


def _targets(context: CommandContext) -> tuple[LakeUri, LakeUri]:
    """Returns source and destination. Both are prefixes if the source ends with a slash or with
    --recursive; else a destination that ends with a slash gets the name of the object.
    """
    source, destination = context.arguments.source, context.arguments.destination
    if context.arguments.recursive or _is_prefix(source):
        return _folder(source), _folder(destination)
    if _is_prefix(destination):
        name = source.key.rpartition("/")[2]
        destination = msgspec.structs.replace(destination, key=destination.key + name)
    return source, destination


def _show(place: LakeUri) -> str:
    return address(place.repository, place.ref, place.key)


def _folder(place: LakeUri) -> LakeUri:
    return place if _is_prefix(place) else msgspec.structs.replace(place, key=f"{place.key}/")


def _is_prefix(place: LakeUri) -> bool:
    return not place.key or place.key.endswith("/")


def _transfer(context: CommandContext, kind: str, source: LakeUri, destination: LakeUri) -> int:
    body: dict[str, Any] = {
        "source_repository": source.repository,
        "source_ref": source.ref,
        "source_path": source.key,
        "destination_path": destination.key,
        "force": context.arguments.force,
        "shallow": context.arguments.shallow,
    }
    result: dict[str, int] = context.connection.send(
        *("POST", "repositories", destination.repository, "branches", destination.ref),
        *("objects", kind),
        body=body,
    )
    return result["count"]


def _report(
    context: CommandContext, verb: str, source: LakeUri, destination: LakeUri, count: int
) -> None:
    objects = "1 object" if count == 1 else f"{count} objects"
    text = f"{verb} {objects} from {_show(source)} to {_show(destination)}"
    context.output.done(text, {"count": count})
