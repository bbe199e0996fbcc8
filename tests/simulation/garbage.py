"""Garbage collection in a simulated world: what there is to collect, who collects it, and the
requests of clients that need it again.

Days before the clients begin, objects were uploaded and replaced, which are in quarantine; a commit
has expired since, and addresses were given out that clients link now. What a request refers to must
stay, and what was brought back from quarantine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from simulation.stores import TURNS
from simulation.world import START, Killed, Server, World

from anabranch.blocks.quarantine import Quarantine
from anabranch.errors import AnabranchError, Busy, OutcomeUnknown
from anabranch.model.imports import ImportSource
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.engine import LocalEngine
from anabranch.pipelines.garbage.sweeping.removal import (
    Deletion,
    QuarantineRemover,
    QuarantineTime,
)
from anabranch.pipelines.garbage.sweeping.restore import Restoration, Restorer
from anabranch.pipelines.garbage.sweeping.sweep import RemovalInBatches, RoundSizes
from anabranch.pipelines.imports.commit_import import ImportRequest

if TYPE_CHECKING:
    from simulation.client import Client

__all__ = [
    "LINKS",
    "OTHER",
    "GarbageCollector",
    "Leavings",
    "bring_back",
    "copy_expired",
    "import_from_other",
    "leave",
    "link",
    "revive",
    "upload_slowly",
    "wait",
]

REPOSITORY = "sea"
OTHER = "river"
"""A repository that imports objects of the first one."""
DAY = 86_400.0
GRACE_SECONDS = 1800.0
"""Longer than any upload takes; the clock of no server is further ahead of the store's."""
KEPT_SECONDS = 3700.0
"""How long removed objects can be brought back: longer than clocks differ."""
LINKS = 10
"""So many addresses were given to each client."""

_STRIDES = ((1,), (1, 3), (2, 10), (200,), (300,))
_ENDS = {"sweep_expired", "kept_out", "connection_lost"}


def expect(error: AnabranchError, kinds: Collection[str]) -> None:
    """Raises AssertionError unless an error is of these kinds, or one of a store that fails."""
    if not isinstance(error, Busy | OutcomeUnknown) and error.kind not in kinds:
        raise AssertionError(f"{error.kind}: {error}")


class Leavings:
    """What was left: an expired commit, the addresses that were given out, by path, what objects
    have, by address, and what was brought back from quarantine.
    """

    def __init__(self, commit_id: str, bodies: dict[str, bytes]) -> None:
        self.commit_id = commit_id
        self.bodies = bodies
        self.given: dict[str, str] = {}
        self.brought_back: set[str] = set()


def leave(world: World, lake: Any, clients: Iterable[str]) -> Leavings:
    """Leaves garbage, on the branch `main`, and lets days pass. The clients have these names."""
    world.now = START - 3 * DAY
    commits, bodies = [], {}
    for generation in range(2):
        for number in range(3):
            for version in range(2):
                body = b"%d %d %d" % (generation, number, version)
                stored = lake.objects.upload(REPOSITORY, "main", f"old/{number}", [body])
                bodies[lake.blocks.unqualify(stored.physical_address)] = body
        commits.append(lake.commits.commit(REPOSITORY, "main", message="", committer="first").id)
    lake.garbage_rules.set(REPOSITORY, RetentionRules(1, {}))
    world.now += DAY / 2
    collect(world, world.server(skew=0.0), quarantine_seconds=KEPT_SECONDS)
    left = Leavings(commits[0], bodies)
    for client in clients:
        for number in range(LINKS):
            world.now = START - world.random.choice((600.0, 0.3 * DAY))  # before the grace period?
            path = f"main/{client}/linked{number}"
            left.given[path] = lake.staging.new_address(REPOSITORY, "main", path)
            lake.blocks.put(left.given[path], [b"linked"])
    world.now = START
    lake.repositories.create(OTHER, world.namespace.replace(REPOSITORY, OTHER), committer="first")
    return left


class _Engine(LocalEngine):
    """The engine of a process, which sweeps in small rounds, and sleeps by the world's clock."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def remover(self, rate: float | None, quarantine: QuarantineTime | None) -> RemovalInBatches:
        context = self._context
        sleep = self._world.sleep
        remover: Any = Deletion(context.blocks, context.namespace.prefix, sleep)
        if quarantine is not None:
            remover = QuarantineRemover(
                *(context.blocks, context.namespace, context.run_id, quarantine), sleep
            )
        removal = RemovalInBatches(remover, rate, ticks=self._world.monotonic, sleep=sleep)
        removal.sizes = RoundSizes(4, rate, maximum=16)
        return removal


class GarbageCollector:
    """A process that collects garbage now and then. Of its runs, some take as long as many requests
    do, and others a moment.
    """

    strides: Sequence[int] = (1,)

    def __init__(self, world: World) -> None:
        self.world = world
        self.server = self._start()
        self._runs = 3 if world.kind == "expired" else world.random.choice((2, 3))

    def run(self) -> None:
        """Collects garbage."""
        for _ in range(self._runs):
            self.strides = (1,)
            if self.world.kind == "expired":  # what is removed later is used before
                self.world.let_others_go_on(self.world.random.randrange(150))
            self.strides = self.world.random.choice(_STRIDES)
            try:
                if self.world.random.random() < 0.5:
                    _collector(self.world, self.server).purge(REPOSITORY)
                else:
                    kept = self.world.random.choice((None, KEPT_SECONDS, KEPT_SECONDS))
                    collect(self.world, self.server, quarantine_seconds=kept)
            except Killed:
                self.server = self._start()
            except AnabranchError as error:
                expect(error, _ENDS)
            self.world.let_hours_pass()

    def _start(self):
        server = self.world.server(self.world.random.choice((-1800.0, *(1800.0,) * 4)))
        server.luck = 0.1  # it makes so many calls that else no run would end
        return server


def _collector(world: World, server: Server) -> Collector:
    lake = server.lake
    return Collector(lake.core, lake.blocks, world.cache / "gc", clock=server.clock)


def collect(world: World, server: Server, quarantine_seconds: float | None) -> None:
    """Collects garbage, by a server's connections to the stores."""
    with _collector(world, server).mark(
        REPOSITORY,
        grace_seconds=GRACE_SECONDS,
        window_seconds=-2 * GRACE_SECONDS,  # none: clocks differ
        quarantine_seconds=quarantine_seconds,
        engine=_Engine(world),
    ) as run:
        # who asks for an expired commit pins it, and may then learn that it has lost objects
        lost = [each for each in run.summary.missing.shown if each.references != ["pin"]]
        assert not lost, f"lost: {lost}"
        run.sweep()


def wait(client: Client) -> None:
    """Lets hours pass."""
    client.world.let_hours_pass()


def link(client: Client) -> None:
    """Links an object that was stored long ago at an address that was given out."""
    world = client.world
    left = world.leavings
    path = f"main/{client.name}/linked{world.random.randrange(LINKS)}"
    key = "main", path
    refused = {"being_removed", "link_address_empty", "link_address_expired"}
    client.write(
        key,
        b"linked",
        lambda: client.lake.staging.link(
            *(REPOSITORY, *key), address=left.given[path], checksum="0" * 32, size=6
        ),
        refused,
    )


def upload_slowly(client: Client) -> None:
    """Stores an object at a new address, and links it a moment later, as clients do that upload to
    presigned addresses. No collection may remove it meanwhile.
    """
    lake, path = client.lake, f"main/{client.name}/slow"

    def upload() -> None:
        address = lake.staging.new_address(REPOSITORY, "main", path)
        lake.blocks.put(address, [b"slow"])
        for _ in range(6):
            lake.blocks.stat(address)
        lake.staging.link(REPOSITORY, "main", path, address=address, checksum="0" * 32, size=4)

    client.write(("main", path), b"slow", upload)


def revive(client: Client) -> None:
    """Creates a branch from a commit that has expired. All of its objects are read in the end."""
    name = f"old-{client.name}-{client.world.random.randrange(3)}"
    try:
        client.lake.branches.create(REPOSITORY, name, client.world.leavings.commit_id)
    except AnabranchError as error:
        expect(error, {"commit_expired", "branch_already_exists", "sweep_under_way"})


def copy_expired(client: Client) -> None:
    """Copies the objects of a commit that has expired onto a branch. All are read in the end."""
    commit_id, folder = client.world.leavings.commit_id, f"copied/{client.name}/"
    areas = client.lake.core.transfers._areas
    write = areas.write

    def write_slowly(*arguments: Any, **options: Any) -> int:
        count = write(*arguments, **options)
        client.world.let_others_go_on(TURNS)  # many objects take a while
        return count

    areas.write = write_slowly
    try:
        client.lake.transfers.copy(
            *(REPOSITORY, "main", "old/", folder), source_reference=commit_id, force=True
        )
    except AnabranchError as error:
        expect(error, {"commit_expired", "sweep_under_way"})
    finally:
        areas.write = write


def import_from_other(client: Client) -> None:
    """Imports an object that nothing refers to into another repository. All is read in the end."""
    address = client.world.random.choice(sorted(client.world.leavings.given.values()))
    source = ImportSource(type="common_prefix", path=address, destination=client.name)
    request = ImportRequest(branch="main", sources=[source], committer=client.name)
    try:
        import_id = client.lake.imports.start(OTHER, request)
        while not client.lake.imports.status(OTHER, "main", import_id).ended:
            client.world.sleep(1.0)
    except AnabranchError as error:
        expect(error, {"source_forbidden"})  # those of a folder cannot be imported


def bring_back(client: Client) -> None:
    """Brings objects back from quarantine. Data that were there when they were protected are not
    purged any more.
    """
    world, core = client.world, client.lake.core
    keep = core.restored.keep
    wanted: dict[str, str] = {}  # the removal of each object: another one is none of this run
    there: set[str] = set()

    def keep_and_look(owner: str, addresses: list[str], seconds: float) -> None:
        keep(owner, addresses, seconds)
        hidden = world.quarantined()
        for each in addresses:
            if (each, wanted[each]) in hidden or client.lake.blocks.stat(each) is not None:
                there.add(each)
        for _ in range(8):  # it takes a moment until the objects are restored
            client.lake.blocks.stat(addresses[0])

    def restore(quarantine: Quarantine, batch: Any, result: Restoration) -> list[str]:
        for each in batch.objects:
            wanted[batch.prefix + each.address] = each.version or batch.part.batch
        return Restorer._restore(restorer, quarantine, batch, result)

    core.restored.keep = keep_and_look
    restorer = Restorer(core, client.lake.blocks, clock=client.server.clock)
    restorer._restore = restore  # type: ignore[method-assign]
    try:
        runs = restorer.runs(REPOSITORY)
        if not runs:
            return
        hidden = sorted({address for address, _ in world.quarantined()})
        names = [each.removeprefix(f"{world.namespace}/") for each in hidden]
        some = world.random.sample(names, min(4, len(names)))
        run = world.random.choice(runs).run_id
        result = restorer.restore(REPOSITORY, run, prefixes=some)
    except AnabranchError as error:
        expect(error, {"being_removed", "quarantine_not_found"})
        return
    finally:
        core.restored.keep = keep
    lost = there & {f"{world.namespace}/{name}" for name in result.gone}
    assert not lost, f"{lost} were purged while they were brought back"
    world.leavings.brought_back |= there
