"""A key-value store in PostgreSQL, for any number of machines.

A look-up is one statement, an apply one transaction in one round trip (see `postgres_apply`), and
what becomes of either when the connection breaks stands in `postgres_requests`.
docs/design/0006-postgresql.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from anabranch.keyvalue import postgres_apply, postgres_statements
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.paging import scan_in_pages
from anabranch.keyvalue.postgres_connection import Answer
from anabranch.keyvalue.postgres_database import PostgresDatabase
from anabranch.keyvalue.postgres_pool import Pool
from anabranch.keyvalue.postgres_requests import Requests

__all__ = ["PostgresStore"]

_SLICE = 1_000


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
        database = PostgresDatabase(connection_string, patience_seconds)
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
        (answer,) = self._requests.run(
            (partition,), lambda places: [postgres_statements.get(places[partition], key)]
        )
        return answer.get_value(0, 0) if answer.ntuples else None

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
        answers = self._requests.run(
            {partition for partition, _ in places},
            lambda tables: [
                postgres_statements.get(tables[partition], key) for partition, key in places
            ],
        )
        return [answer.get_value(0, 0) if answer.ntuples else None for answer in answers]

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
        answers = self._requests.run(
            {partition for partition, _, _ in (*writes, *expect)},
            lambda places: postgres_apply.statements(writes, expect, places),
            once=bool(writes),
        )
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


def _rows(answer: Answer) -> list[tuple[bytes, bytes]]:
    value = answer.get_value
    return [(value(row, 0) or b"", value(row, 1) or b"") for row in range(answer.ntuples)]
