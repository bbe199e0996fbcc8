"""Planted faults of how PostgreSQL is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulation.planted.plant import Plant, needs
from simulation.world import World

from anabranch.keyvalue.batching.apply_batching import Apply
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres.executor import RequestExecutor
from anabranch.keyvalue.postgres.store import PostgresStore

__all__ = ["PLANTED"]

_POSTGRES = "anabranch.keyvalue.postgres"


@needs("database")
def blind_retry(world: World) -> None:
    """A transaction whose outcome is unknown is sent again, and what that finds is reported."""
    run = RequestExecutor.run

    def run_again(self: RequestExecutor, *arguments: Any, once: bool = False) -> Any:  # noqa: ARG001
        return run(self, *arguments)

    world.replace(f"{_POSTGRES}.executor.RequestExecutor.run", run_again)


@needs("database")
def running_backend(world: World) -> None:
    """The backend of a broken connection is not ended, so that it may write later."""
    world.replace(f"{_POSTGRES}.executor.RequestExecutor._terminate", lambda *_arguments: None)


@needs("database")
def read_outside_of_transaction(world: World) -> None:
    """What a transaction expects is read before it begins."""
    apply = PostgresStore._apply

    def read_and_apply(self: PostgresStore, of: Apply) -> Any:
        if any(self.get(*each[:2]) != each.value for each in of.expect):
            return False
        return apply(self, Apply(of.writes, (), *of[2:]))

    world.replace(f"{_POSTGRES}.store.PostgresStore._apply", read_and_apply)


@needs("database")
def stale_cache(world: World) -> None:
    """A server keeps what it has read until it writes that itself."""
    look_up, apply = PostgresStore.get_across_partitions, PostgresStore.apply
    read: dict[int, dict[tuple[str, bytes], bytes | None]] = {}

    def look_up_cached(
        self: PostgresStore, locations: Sequence[tuple[str, bytes]]
    ) -> list[bytes | None]:
        known = read.setdefault(id(self), {})
        new = [each for each in locations if each not in known]
        known.update(zip(new, look_up(self, new) if new else [], strict=True))
        return [known[each] for each in locations]

    def apply_and_forget(
        self: PostgresStore, writes: Sequence[Write], expect: Sequence[Expect] = ()
    ) -> bool:
        known = read.get(id(self), {})
        for write in writes:
            known.pop((write.partition, write.key), None)
        return apply(self, writes, expect)

    world.replace(f"{_POSTGRES}.store.PostgresStore.get_across_partitions", look_up_cached)
    world.replace(f"{_POSTGRES}.store.PostgresStore.apply", apply_and_forget)


PLANTED: tuple[Plant, ...] = (
    blind_retry,
    running_backend,
    read_outside_of_transaction,
    stale_cache,
)
