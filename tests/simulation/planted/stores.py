"""Planted faults of the stores: of what they say that they have done, and of what they return."""

from __future__ import annotations

from simulation.planted.plant import Plant
from simulation.world import Server, World

from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Busy, OutcomeUnknown
from anabranch.keyvalue.memory import MemoryStore

__all__ = ["PLANTED"]


def always_succeeds(world: World) -> None:
    """A compare-and-set that compares nothing."""
    world.store.apply = lambda writes, _expect=(): MemoryStore.apply(world.store, writes)


def compares_the_first_alone(world: World) -> None:
    """A transaction with several conditions checks one of them."""
    world.store.apply = lambda writes, expect=(): MemoryStore.apply(
        world.store, writes, list(expect)[:1]
    )


def says_success(world: World) -> None:
    """A compare-and-set that failed is reported as made."""

    def apply(writes, expect=()):
        MemoryStore.apply(world.store, writes, expect)
        return True

    world.store.apply = apply


def torn(world: World) -> None:
    """A transaction is now and then made in part."""

    def apply(writes, expect=()):
        writes = list(writes)
        if len(writes) > 1 and world.random.random() < 0.1:
            MemoryStore.apply(world.store, writes[: world.random.randrange(1, len(writes))], expect)
            raise OutcomeUnknown("the connection was lost")
        return MemoryStore.apply(world.store, writes, expect)

    world.store.apply = apply


def loses_one_of_many(world: World) -> None:
    """The last write of a large transaction is lost."""

    def apply(writes, expect=()):
        writes = list(writes)
        kept = writes[:-1] if len(writes) > 2 else writes
        return MemoryStore.apply(world.store, kept, expect)

    world.store.apply = apply


def lost_is_failure(world: World) -> None:
    """A write whose response was lost is reported as not made."""

    def apply(writes, expect=()):
        made = MemoryStore.apply(world.store, writes, expect)
        if world.random.random() < 0.03:
            raise Busy("the store cannot be reached")
        return made

    world.store.apply = apply


def not_durable(world: World) -> None:
    """A write is acknowledged and lost."""

    def apply(writes, expect=()):
        if world.random.random() < 0.02:
            return True
        return MemoryStore.apply(world.store, writes, expect)

    world.store.apply = apply


def late(world: World) -> None:
    """A write is made again after the next one, as by a retry of the network."""
    again: list = []

    def apply(writes, expect=()):
        made = MemoryStore.apply(world.store, writes, expect)
        while again:
            MemoryStore.apply(world.store, again.pop())
        if made and world.random.random() < 0.1:
            again.append(list(writes))
        return made

    world.store.apply = apply


def stale_reads(world: World) -> None:
    """Reads go to a replica that is now and then behind."""
    old: dict = {}

    def get(partition, key):
        value = MemoryStore.get(world.store, partition, key)
        was = old.get((partition, key), value)
        if world.random.random() < 0.1:
            return was
        old[partition, key] = value
        return value

    world.store.get = get


def lost_reads(world: World) -> None:
    """A read finds nothing where there is something."""

    def get(partition, key):
        value = MemoryStore.get(world.store, partition, key)
        return None if world.random.random() < 0.02 else value

    world.store.get = get


def short_scans(world: World) -> None:
    """A listing leaves out its last row."""

    def scan(*arguments, **options):
        rows = list(MemoryStore.scan(world.store, *arguments, **options))
        return iter(rows[:-1] if len(rows) > 1 and world.random.random() < 0.2 else rows)

    world.store.scan = scan


def forgotten_blocks(world: World) -> None:
    """A block is acknowledged, and was not stored."""

    def put(address, chunks, **options):
        stored = MemoryBlocks.put(world.blocks, address, chunks, **options)
        if world.random.random() < 0.03:
            MemoryBlocks.delete(world.blocks, [address])
        return stored

    world.blocks.put = put


def mixed_blocks(world: World) -> None:
    """A block has the content of the one before."""
    before = [b""]

    def put(address, chunks, **options):
        body = b"".join(chunks)
        wrong = before[0] if world.random.random() < 0.03 and len(before[0]) else body
        before[0] = body
        return MemoryBlocks.put(world.blocks, address, [wrong], **options)

    world.blocks.put = put


def torn_blocks(world: World) -> None:
    """A block has half of its content."""

    def put(address, chunks, **options):
        body = b"".join(chunks)
        if world.random.random() < 0.03:
            body = body[: len(body) // 2]
        return MemoryBlocks.put(world.blocks, address, [body], **options)

    world.blocks.put = put


def early_removal(world: World) -> None:
    """A partition is removed while it is still referred to."""

    def apply(writes, expect=()):
        made = MemoryStore.apply(world.store, writes, expect)
        partitions = [name for name in world.store._partitions if name.startswith("sea-")]
        if partitions and world.random.random() < 0.01:
            MemoryStore.drop(world.store, world.random.choice(partitions))
        return made

    world.store.apply = apply


def same_identifiers(world: World) -> None:
    """Two servers make the same random numbers."""

    def plant(server: Server) -> None:
        server.lake.core.identifiers._random = bytes
        server.lake.core.identifiers._process = 0
        server.skew = 0.0  # else their clocks tell them apart

    world.on_server.append(plant)


def drops_expectations_of_absence(world: World) -> None:
    """A record that must not exist yet is overwritten."""

    def apply(writes, expect=()):
        expect = [each for each in expect if each[2] is not None]
        return MemoryStore.apply(world.store, writes, expect)

    world.store.apply = apply


PLANTED: tuple[Plant, ...] = (
    always_succeeds,
    compares_the_first_alone,
    says_success,
    torn,
    loses_one_of_many,
    lost_is_failure,
    not_durable,
    late,
    stale_reads,
    lost_reads,
    short_scans,
    forgotten_blocks,
    mixed_blocks,
    torn_blocks,
    early_removal,
    same_identifiers,
    drops_expectations_of_absence,
)
