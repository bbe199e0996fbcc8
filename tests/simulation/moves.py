"""Moves of prefixes in a simulated world: whole boxes are moved while others write into them.

Two boxes are on the branch `hold`. Each client writes versions of objects of its own into either,
and every client moves all of one box into the other, at any time. A version that was acknowledged
last is never lost, wherever it is by then, and none is ever in both boxes: a move takes effect at
once. An older version may stay in the other box, where it keeps the boxes from being moved, until
its owner removes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulation.garbage import expect

from anabranch.errors import AnabranchError, OutcomeUnknown

if TYPE_CHECKING:
    from simulation.client import Client

__all__ = ["HOLD", "Versions", "carry", "check_moves", "look", "prepare", "seal", "stow", "tidy"]

REPOSITORY, HOLD = "sea", "hold"
BOXES = ("left", "right")
ALL = 1000
_NAMES = 2
"""So many objects each client has."""


class Versions:
    """The versions of an object: the last acknowledged one, and later ones that may be there."""

    def __init__(self) -> None:
        self.written = 0
        self.acknowledged = 0
        self._perhaps: set[int] = set()

    def begin(self) -> int:
        """Returns the next version, which may be there from now on."""
        self.written += 1
        self._perhaps.add(self.written)
        return self.written

    def end(self, version: int, *, is_made: bool) -> None:
        """The outcome of a write is known."""
        self._perhaps.discard(version)
        if is_made:
            self.acknowledged = version

    def snapshot(self) -> Callable[[list[int]], None]:
        """Returns what is called with the versions that are seen later, one for each box that has
        the object. Raises AssertionError if they cannot be there.
        """
        acknowledged = self.acknowledged

        def see(found: list[int]) -> None:
            assert len(found) == len(set(found)), f"version {found[0]} is in both boxes"
            newest = max(found, default=0)
            may_be = {acknowledged} | {each for each in self._perhaps if each > acknowledged}
            may_be |= {self.acknowledged}  # it was acknowledged meanwhile
            assert newest in may_be, f"version {newest} is the newest, and {may_be} may be"

        return see


def prepare(lake: Any) -> None:
    """Creates the branch."""
    lake.branches.create(REPOSITORY, HOLD, "main")


def stow(client: Client) -> None:
    """Writes the next version of an object into one of the boxes."""
    random = client.world.random
    name = f"{client.name}-{random.randrange(_NAMES)}"
    versions = client.stowed.setdefault(name, Versions())
    version = versions.begin()
    path = f"{random.choice(BOXES)}/{name}"
    client.world.uploads += 1
    try:
        client.lake.objects.upload(REPOSITORY, HOLD, path, [_body(name, version)])
    except OutcomeUnknown:
        pass
    except AnabranchError as error:
        expect(error, ())
        versions.end(version, is_made=False)
    else:
        versions.end(version, is_made=True)
    finally:
        client.world.uploads -= 1


def carry(client: Client) -> None:
    """Moves all of a box into the other one."""
    source, destination = client.world.random.sample(BOXES, 2)
    try:
        client.lake.transfers.move(REPOSITORY, HOLD, f"{source}/", f"{destination}/")
    except AnabranchError as error:
        expect(error, {"object_not_found", "destination_exists"})


def look(client: Client) -> None:
    """Compares what the boxes have with what they can have."""
    checks = {name: versions.snapshot() for name, versions in client.stowed.items()}
    try:
        found = _found(client.lake)
    except AnabranchError as error:
        expect(error, ())
        return
    for name, see in checks.items():
        see(list(found.get(name, {}).values()))


def tidy(client: Client) -> None:
    """Removes older versions of own objects, each of which is in the other box than a newer one."""
    try:
        found = _found(client.lake)
        for name in client.stowed:
            places = found.get(name, {})
            if len(places) == len(BOXES):
                older = min(places, key=lambda box: places[box])
                client.lake.objects.delete(REPOSITORY, HOLD, f"{older}/{name}")
    except AnabranchError as error:
        expect(error, ())


def seal(client: Client) -> None:
    """Commits what is in the boxes."""
    try:
        commit = client.lake.commits.commit(REPOSITORY, HOLD, message="", committer=client.name)
    except AnabranchError as error:
        expect(error, {"no_changes"})
    else:
        client.commits.append((HOLD, commit.id))


def check_moves(lake: Any, clients: list[Client]) -> None:
    """Raises AssertionError if an object is lost, or in both boxes."""
    found = _found(lake)
    for client in clients:
        for name, versions in client.stowed.items():
            versions.snapshot()(list(found.get(name, {}).values()))


def _found(lake: Any) -> dict[str, dict[str, int]]:
    """Returns the versions of objects, by name and box."""
    found: dict[str, dict[str, int]] = {}
    for item in lake.objects.listing(REPOSITORY, HOLD, amount=ALL).items:
        box, _, name = item.path.partition("/")
        versions = range(1, ALL)
        found.setdefault(name, {})[box] = next(
            each for each in versions if _checksum(name, each) == item.entry.checksum
        )
    return found


def _body(name: str, version: int) -> bytes:
    return f"{name} {version}".encode()


def _checksum(name: str, version: int) -> str:
    return hashlib.md5(_body(name, version), usedforsecurity=False).hexdigest()
