"""A key-value store in PostgreSQL, for any number of machines.

A look-up is one statement, an apply one transaction in one round trip (see `postgres_apply`), and
what becomes of either when the connection breaks stands in `postgres_requests`.
docs/design/0006-postgresql.md says why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from anabranch.errors import AnabranchError
from anabranch.keyvalue import postgres_apply, postgres_statements
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.merged_applies import Apply, Outcome, apply_all, made
from anabranch.keyvalue.paging import scan_in_pages
from anabranch.keyvalue.postgres_clients import connection_name
from anabranch.keyvalue.postgres_connection import Answer, Statement
from anabranch.keyvalue.postgres_database import PostgresDatabase
from anabranch.keyvalue.postgres_layout import TableOf
from anabranch.keyvalue.postgres_pool import Pool
from anabranch.keyvalue.postgres_requests import Requests
from anabranch.lane import together

__all__ = ["PostgresStore"]

_SLICE = 1_000

Place: TypeAlias = tuple[str, bytes]
"""A partition and a key."""


class PostgresStore:
    """A `KeyValueStore` in the PostgreSQL database that `connection_string` names: a URL, or
    `name=value` pairs, as libpq reads them.

    `patience_seconds` is how long a request waits for a connection, and how long for its answer;
    a `connection_max_lifetime` of 0 is for ever. Raises Invalid for what is no connection string,
    Busy when the database cannot be reached, NotSupported unless it has been migrated to the
    version that is served here.
    """

    def __init__(
        self,
        connection_string: str,
        *,
        max_open_connections: int = 25,
        max_idle_connections: int = 25,
        connection_max_lifetime: float = 300.0,
        patience_seconds: float = 20.0,
    ) -> None:
        name = connection_name(max_open_connections)
        database = PostgresDatabase(connection_string, patience_seconds, name)
        pool = Pool(
            database.connect,
            most_open=max_open_connections,
            most_idle=max_idle_connections,
            lifetime_seconds=connection_max_lifetime,
            patience_seconds=patience_seconds,
        )
        self._requests = Requests(database, pool)

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""
        return self.get_together(((partition, key),))[0]

    def get_many(self, partition: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the values of several keys, in their order, as they were at one moment."""
        if not keys:
            return []
        wanted = set(keys)
        (answer,) = self._requests.run(
            (partition,), lambda places: [postgres_statements.get_many(places[partition], wanted)]
        )
        return list(map(dict(_rows(answer)).get, keys))

    def get_together(self, places: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        """Returns the values of keys of any partitions, read one after another in one request."""
        return together(self._read_all, places)

    def _read_all(self, wanted: Sequence[Sequence[Place]]) -> list[list[bytes | None]]:
        """Returns the values of the places that each of several requests reads, read for all of
        them in one.
        """
        keys: dict[str, dict[bytes, None]] = {}
        for places in wanted:
            for partition, key in places:
                keys.setdefault(partition, {})[key] = None
        answers = self._requests.run(
            keys, lambda tables: [_read(tables[each], keys[each]) for each in keys]
        )
        values = {
            partition: dict(_rows(answer)) for partition, answer in zip(keys, answers, strict=True)
        }
        return [[values[partition].get(key) for partition, key in places] for places in wanted]

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them.

        Reads in pages, so that a scan which its reader leaves lying holds nothing.
        """
        return scan_in_pages(partial(self._page, partition), start, end, limit)

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes all writes at once if every expectation holds, else none; returns whether.

        Raises Busy, after which nothing was written; OutcomeUnknown, after which nobody knows; and
        Invalid for a key of more than about 2,600 bytes or a value of more than about 1 GB.
        """
        if not writes and not expect:
            return True
        return made(together(self._apply_all, Apply(writes, expect)))

    def _apply_all(self, applies: Sequence[Apply]) -> Sequence[Outcome]:
        return apply_all(applies, lambda some: [self._apply(apply) for apply in some])

    def _apply(self, apply: Apply) -> Outcome:
        writes, expect = apply
        try:
            answers = self._requests.run(
                {partition for partition, _, _ in (*writes, *expect)},
                lambda places: postgres_apply.statements(writes, expect, places),
                once=bool(writes),
            )
        except AnabranchError as error:
            return error
        return postgres_apply.held(answers, len(expect))

    def drop(self, partition: str) -> None:
        """Removes a whole partition, in slices, between which others write."""
        removed = _SLICE
        while removed == _SLICE:
            (answer,) = self._requests.run(
                (partition,),
                lambda places: [postgres_statements.drop_slice(places[partition], _SLICE)],
            )
            removed = answer.command_tuples or 0

    def close(self) -> None:
        """Finishes what is in flight and releases the store; whoever uses it then gets Busy."""
        self._requests.close()

    def _page(
        self, partition: str, start: bytes, end: bytes | None, amount: int
    ) -> list[tuple[bytes, bytes]]:
        (answer,) = self._requests.run(
            (partition,),
            lambda places: [postgres_statements.page(places[partition], start, end, amount)],
        )
        return _rows(answer)


def _read(table: TableOf, keys: Collection[bytes]) -> Statement:
    if len(keys) == 1:
        return postgres_statements.get(table, *keys)
    return postgres_statements.get_many(table, keys)


def _rows(answer: Answer) -> list[tuple[bytes, bytes]]:
    value = answer.get_value
    return [(value(row, 0) or b"", value(row, 1) or b"") for row in range(answer.ntuples)]
