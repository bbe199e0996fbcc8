"""Imports in a simulated world: several clients import onto one branch, and cancel some.

Each client imports crates of a folder outside to a prefix of its own on the branch `quay`, in place
of what it has imported before. What the prefix has afterwards is what the acknowledged import had,
and an import that was cancelled changes nothing. Others commit to the branch meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from simulation.fate import Killed
from simulation.garbage import expect

from anabranch.errors import AnabranchError, Busy, OutcomeUnknown
from anabranch.model.imports import ImportSource
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.imports.commit_import import ImportRequest

if TYPE_CHECKING:
    from simulation.client import Client
    from simulation.world import World

__all__ = ["QUAY", "check_imports", "import_crate", "prepare", "ship"]

REPOSITORY, QUAY = "sea", "quay"
CRATES = range(1, 8)
"""Each has the objects whose bits are set in its number."""
ALL = 1000
_REFUSED = {"dirty_branch", "import_not_found"}


def prepare(world: World, lake: Any) -> None:
    """Stores the crates, and creates the branch."""
    lake.branches.create(REPOSITORY, QUAY, "main")
    for crate in CRATES:
        for name in _names(crate):
            world.store_outside(f"{crate}/{name}", b"%d" % crate)


def ship(client: Client) -> None:
    """Uploads an object to the branch, and commits it: branches with changes refuse imports."""
    key = QUAY, f"{QUAY}/{client.name}/{client.world.random.randrange(3)}"
    client.put(key)
    try:
        commit = client.lake.commits.commit(REPOSITORY, QUAY, message="", committer=client.name)
    except AnabranchError as error:
        expect(error, {"no_changes"})
    else:
        client.commits.append((QUAY, commit.id))


def import_crate(client: Client) -> None:
    """Imports a crate, and waits for the import; or cancels it."""
    crate = client.world.random.choice(CRATES)
    source = ImportSource(
        type="common_prefix", path=f"{client.world.outside}/{crate}/", destination=client.name
    )
    request = ImportRequest(branch=QUAY, sources=[source], committer=client.name)
    before = client.imported
    client.imported = {*before, crate}
    try:
        import_id = client.lake.imports.start(REPOSITORY, request)
    except OutcomeUnknown:
        client.imported = before  # a record alone was written, if any
        return
    except AnabranchError as error:
        expect(error, _REFUSED)
        client.imported = before
        return
    cancels = client.world.random.random() < 0.4
    status = _outcome(client, import_id, cancels=cancels)
    if status.completed:
        client.imported = {crate}
        assert status.commit is not None
        client.commits.append((QUAY, status.commit.id))
    else:
        client.imported = before
    look(client)


def _outcome(client: Client, import_id: str, *, cancels: bool) -> JobStatus:
    """Returns the state of an import that has ended, or was cancelled. That of a server that has
    ended is cancelled: its last write may be under way still.
    """
    while True:
        try:
            client.world.sleep(client.world.random.choice((0.0, 1.0, 5.0)))
            if cancels:
                client.lake.imports.cancel(REPOSITORY, QUAY, import_id)
                cancels = False
            status = client.lake.imports.status(REPOSITORY, QUAY, import_id)
            cancels = status.error.startswith("interrupted")
            if status.ended and not cancels:
                return status
        except Killed:
            client.restart(skew=client.server.skew)
        except AnabranchError as error:
            expect(error, {*_REFUSED, "import_completed"})
            cancels = cancels and error.kind != "import_completed"


def look(client: Client) -> None:
    """Compares what the client's prefix has with what it can have."""
    try:
        client.imported = {_imported(client.lake, client.name, client.imported)}
    except Busy as error:
        expect(error, ())


def _imported(lake: Any, name: str, possible: Collection[int]) -> int:
    """Returns the crate that a client's prefix has, 0 for none."""
    prefix = f"{name}/"
    items = lake.objects.listing(REPOSITORY, QUAY, prefix=prefix, amount=ALL).items
    found = {item.path.removeprefix(prefix) for item in items}
    crates = {int(item.physical_address.split("/")[-2]) for item in items} or {0}
    crate = crates.pop()
    assert not crates, f"{name} has objects of several crates: {sorted(found)}"
    assert found == set(_names(crate)), f"{name} has {sorted(found)} of crate {crate}"
    assert crate in possible, f"{name} has crate {crate}, and can have {possible}"
    return crate


def check_imports(lake: Any, clients: list[Client]) -> None:
    """Raises AssertionError if what was imported is not there, or is not as the states say."""
    for client in clients:
        _imported(lake, client.name, client.imported)
    log = {each.id for each in lake.commits.log(REPOSITORY, QUAY, amount=ALL).items}
    repository = lake.core.repositories.get(REPOSITORY)
    done = {
        each.status.commit.id for each in lake.core.imports.all(repository) if each.status.commit
    }
    assert done <= log, f"the commits {done - log} of imports are not on the branch"


def _names(crate: int) -> list[str]:
    return [name for bit, name in enumerate("abc") if crate >> bit & 1]
