"""Key-value stores against a plain dictionary, under histories that Hypothesis thinks up."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.postgres import PostgresStore
from anabranch.keyvalue.sqlite import SQLiteStore
from anabranch.testing.postgres import clear

PARTITIONS = st.sampled_from(["p", "pp", "q"])
KEYS = st.one_of(
    st.binary(max_size=3),
    st.sampled_from([b"a", b"a/b", b"a-b", b"\xff" * 1_100, b"k" * 2_000]),
)
VALUES = st.one_of(st.binary(max_size=4), st.sampled_from([b"", b"v" * 5_000]))
WRITES = st.lists(st.builds(Write, PARTITIONS, KEYS, st.none() | VALUES), max_size=6)

QUICK = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where waiting for the disk costs nothing; what survives what is tested elsewhere."""


class Histories(RuleBasedStateMachine):
    """One store and the dictionary it must agree with."""

    def __init__(self) -> None:
        super().__init__()
        self.store = self.open()
        self.model: dict[tuple[str, bytes], bytes] = {}

    def open(self) -> KeyValueStore:
        raise NotImplementedError

    def write(self, writes: list[Write]) -> None:
        for partition, key, value in writes:
            if value is None:
                self.model.pop((partition, key), None)
            else:
                self.model[partition, key] = value

    @rule(writes=WRITES)
    def apply(self, writes):
        assert self.store.apply(writes)
        self.write(writes)

    @rule(writes=WRITES, expect=st.lists(st.tuples(PARTITIONS, KEYS), max_size=3))
    def apply_as_it_is(self, writes, expect):
        assert self.store.apply(
            writes,
            [Expect(partition, key, self.model.get((partition, key))) for partition, key in expect],
        )
        self.write(writes)

    @rule(
        writes=WRITES,
        expect=st.lists(st.builds(Expect, PARTITIONS, KEYS, st.none() | VALUES), max_size=3),
    )
    def apply_if(self, writes, expect):
        holds = all(self.model.get((e.partition, e.key)) == e.value for e in expect)
        assert self.store.apply(writes, expect) == holds
        if holds:
            self.write(writes)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def swap(self, data):
        partition, key = data.draw(st.sampled_from(sorted(self.model)))
        held = self.model[partition, key]
        assert not self.store.apply(
            [Write(partition, key, b"new")], [Expect(partition, key, held + b"x")]
        )
        assert self.store.apply([Write(partition, key, b"new")], [Expect(partition, key, held)])
        self.model[partition, key] = b"new"

    @rule(partition=PARTITIONS)
    def drop(self, partition):
        self.store.drop(partition)
        self.model = {name: value for name, value in self.model.items() if name[0] != partition}

    @rule(partition=PARTITIONS, keys=st.lists(KEYS, max_size=5))
    def get(self, partition, keys):
        expected = [self.model.get((partition, key)) for key in keys]
        assert self.store.get_many(partition, keys) == expected
        assert [self.store.get(partition, key) for key in keys] == expected

    @rule(
        partition=PARTITIONS,
        start=KEYS,
        end=st.none() | KEYS,
        limit=st.none() | st.integers(0, 5),
    )
    def scan(self, partition, start, end, limit):
        expected = sorted(
            (key, value)
            for (held_in, key), value in self.model.items()
            if held_in == partition and key >= start and (end is None or key < end)
        )
        assert list(self.store.scan(partition, start, end, limit=limit)) == expected[:limit]

    @invariant()
    def agrees(self):
        for partition in ("p", "pp", "q"):
            held = {(partition, key): value for key, value in self.store.scan(partition)}
            assert held == {n: v for n, v in self.model.items() if n[0] == partition}

    def teardown(self) -> None:
        self.store.close()


class MemoryHistories(Histories):
    def open(self) -> KeyValueStore:
        return MemoryStore()


class SQLiteHistories(Histories):
    def open(self) -> KeyValueStore:
        self.folder = tempfile.TemporaryDirectory(dir=QUICK)
        return SQLiteStore(Path(self.folder.name) / "db")

    @rule()
    def reopen(self):
        self.store.close()
        self.store = SQLiteStore(Path(self.folder.name) / "db")

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


class PostgresHistories(Histories):
    url = ""

    def open(self) -> KeyValueStore:
        clear(self.url)
        return PostgresStore(self.url, max_open_connections=2)

    @rule()
    def reopen(self):
        self.store.close()
        self.store = PostgresStore(self.url, max_open_connections=2)


MODEL = settings(
    max_examples=30,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestMemory = MemoryHistories.TestCase
TestMemory.settings = MODEL
TestSQLite = SQLiteHistories.TestCase
TestSQLite.settings = MODEL


class TestPostgres(PostgresHistories.TestCase):
    settings = settings(MODEL, max_examples=10)

    @pytest.fixture(autouse=True)
    def _database(self, migrated):
        PostgresHistories.url = migrated
