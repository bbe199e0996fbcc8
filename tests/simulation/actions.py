"""What the clients of a simulated world do, as often as it is named, by the kind of the world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from simulation.garbage import (
    bring_back,
    copy_expired,
    import_from_other,
    link,
    revive,
    upload_slowly,
    wait,
)
from simulation.images import build_image, build_of_expired
from simulation.imports import import_crate, ship
from simulation.installations import FolderWorld
from simulation.moves import carry, look, seal, stow, tidy
from simulation.requests import keyed_commit, undo, workspace
from simulation.world import World

if TYPE_CHECKING:
    from simulation.client import Client

__all__ = ["OTHERS", "actions_of"]

_ALWAYS = (
    *("put", "put", "put", "delete", "read", "commit", "commit", "merge", "branch", "tag"),
    *("name", "claim", "claim", "peek", "peek"),
)
_BESIDE_REQUESTS = (
    *("put", "commit", "merge", "read", "undo", "undo", "workspace"),
    *("keyed_commit",) * 5,
)
_BESIDE_MOVES = (
    *("stow",) * 6,
    *("carry",) * 5,
    *("look", "look", "tidy", "seal", "seal", "clean"),
)
_BESIDE_JOBS = (
    *("put", "put", "commit", "merge", "read", "peek", "ship", "clean"),
    *("import_crate",) * 4,
    *("build_image",) * 3,
)
OTHERS: Mapping[str, Callable[[Client], None]] = {
    "ship": ship,
    "import_crate": import_crate,
    "build_image": build_image,
    "build_of_expired": build_of_expired,
    "stow": stow,
    "carry": carry,
    "look": look,
    "tidy": tidy,
    "seal": seal,
    "keyed_commit": keyed_commit,
    "undo": undo,
    "workspace": workspace,
    "link": link,
    "revive": revive,
    "bring_back": bring_back,
    "copy_expired": copy_expired,
    "import_from_other": import_from_other,
    "wait": wait,
    "upload_slowly": upload_slowly,
}
_BESIDE_GARBAGE = (
    *("put", "put", "delete", "read", "commit", "tag", "wait", "revive"),
    *("upload_slowly", "upload_slowly", "upload_slowly"),
    *("link",) * 5,
    *("bring_back",) * 4,
)
_OF_EXPIRED = ("revive", "copy_expired", "build_of_expired", "import_from_other")
"""Of these each world has one: what one has brought back, the others could not lose."""
_BESIDE_EXPIRY = ("put", "commit", "read")
_ACTIONS = {
    "garbage": _BESIDE_GARBAGE,
    "expired": _BESIDE_EXPIRY,
    "requests": _BESIDE_REQUESTS,
    "moves": _BESIDE_MOVES,
    "jobs": _BESIDE_JOBS,
}
"""What clients do, by the kind of their world."""


def actions_of(world: World) -> Sequence[str]:
    """Returns the names of actions: of `OTHERS`, or of the client's own."""
    names: tuple[str, ...] = _ACTIONS.get(world.kind, _ALWAYS)
    if world.kind == "expired":
        names = (*names, *(_OF_EXPIRED[world.seed // 8 % len(_OF_EXPIRED)],) * 2)
    if isinstance(world, FolderWorld):
        names = (*names, "checkpoint")
    return names
