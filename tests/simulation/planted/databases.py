"""Planted faults of how PostgreSQL is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulation.planted.plant import Plant, needs
from simulation.world import World

from anabranch.errors import Busy, OutcomeUnknown
from anabranch.keyvalue.batching.apply_batching import Apply
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres import apply_statements
from anabranch.keyvalue.postgres.connection import Connection
from anabranch.keyvalue.postgres.database import _BEGIN_SESSION
from anabranch.keyvalue.postgres.errors import ConnectionLost, StatementFailed
from anabranch.keyvalue.postgres.executor import RequestExecutor, _connection_lost
from anabranch.keyvalue.postgres.store import PostgresStore

__all__ = ["PLANTED"]

_POSTGRES = "anabranch.keyvalue.postgres"
_LOCK = b"\0\0\0\0\0\0\0\1"
_TRY_LOCK = b"SELECT pg_try_advisory_lock($1)"
_PAUSE = 10
_UNLOCK = b"SELECT pg_advisory_unlock($1)"


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


@needs("database")
def sessions_as_the_owner_likes(world: World) -> None:
    """Transactions do not wait for the disk if the owner of the database has turned that off."""
    weak = _BEGIN_SESSION.replace(b"WHEN 'off' THEN 'on'", b"WHEN 'off' THEN 'off'")
    world.replace(f"{_POSTGRES}.database._BEGIN_SESSION", weak)


@needs("database")
def unknown_is_failure(world: World) -> None:
    """A transaction is reported as not made since its connection broke."""
    world.replace(f"{_POSTGRES}.executor._outcome_unknown", _connection_lost)


@needs("database")
def unknown_is_success(world: World) -> None:
    """A transaction is reported as made although its connection broke."""
    apply = PostgresStore._apply

    def apply_surely(self: PostgresStore, of: Apply) -> Any:
        result = apply(self, of)
        return isinstance(result, OutcomeUnknown) or result

    world.replace(f"{_POSTGRES}.store.PostgresStore._apply", apply_surely)


@needs("database")
def lock_thought_held(world: World) -> None:
    """A lock is thought held although the session that had it has ended."""
    applies = _LockedApplies(world)

    def apply_locked(self: PostgresStore, of: Apply) -> Any:
        return applies.apply(self, of)

    world.replace(f"{_POSTGRES}.store.PostgresStore._apply", apply_locked)


class _LockedApplies:
    """Applies under a lock of their session. If their connection breaks, they go on with another
    one, without looking again at what they expect.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def apply(self, store: PostgresStore, of: Apply) -> Any:
        try:
            connection = self._locked(store)
            if any(store.get(*each[:2]) != each.value for each in of.expect):
                connection.run((_UNLOCK, (_LOCK,)))
                return False
        except (ConnectionLost, StatementFailed) as error:
            return Busy(str(error))
        except Busy as error:
            return error
        tables = store._executor._layout.table_for
        names = {write.partition: tables(write.partition) for write in of.writes}
        while True:
            try:
                connection.run(*apply_statements.statements(of.writes, (), names))
                connection.run((_UNLOCK, (_LOCK,)))
            except ConnectionLost:
                store._executor._terminate(connection.backend)
                connection = self._connection(store)
            except StatementFailed:
                pass
            else:
                return True

    def _locked(self, store: PostgresStore) -> Connection:
        connection = store._executor._pool.acquire()
        while connection.run((_TRY_LOCK, (_LOCK,)))[0].get_value(0, 0) != b"\1":
            self._world.sleep(0.02)
        return connection

    def _connection(self, store: PostgresStore) -> Connection:
        self._world.let_others_go_on(_PAUSE)
        while True:
            try:
                return store._executor._pool.acquire()
            except Busy:
                self._world.sleep(0.02)


PLANTED: tuple[Plant, ...] = (
    blind_retry,
    running_backend,
    read_outside_of_transaction,
    stale_cache,
    sessions_as_the_owner_likes,
    unknown_is_failure,
    unknown_is_success,
    lock_thought_held,
)
