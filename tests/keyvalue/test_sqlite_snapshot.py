"""Snapshots of a SQLite store that is written meanwhile."""

from __future__ import annotations

import pytest

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.frozen_store import FrozenStore
from anabranch.keyvalue.sqlite.snapshot import SQLiteSnapshot, integrity_problems


@pytest.fixture
def filled(sqlite):
    sqlite.apply([Write("p", b"%04d" % number, b"v%d" % number) for number in range(3000)])
    sqlite.apply([Write("q", b"k", b"")])
    return sqlite


@pytest.fixture
def snapshot(filled, database):  # noqa: ARG001  the store has made the file
    snapshot = SQLiteSnapshot(database)
    yield snapshot
    snapshot.close()


def test_snapshot_reads_keys_as_the_store_does(filled, snapshot):
    assert snapshot.get("p", b"0007") == b"v7"
    assert snapshot.get("p", b"7") is None
    for bounds in ((b"", None), (b"0100", None), (b"0100", b"2900"), (b"9", None)):
        assert list(snapshot.scan("p", *bounds)) == list(filled.scan("p", *bounds))
    assert len(list(snapshot.scan("p", limit=70))) == 70
    assert dict(snapshot.partitions()) == {b"p": 3000, b"q": 1}


def test_snapshot_does_not_change_when_others_write(filled, snapshot):
    begun = snapshot.scan("p")
    assert next(begun) == (b"0000", b"v0")
    filled.apply([Write("p", b"0001", b"new"), Write("p", b"0000a", b"new")])
    filled.drop("q")
    assert [value for _, value in begun][:2] == [b"v1", b"v2"]
    assert snapshot.get("p", b"0001") == b"v1"
    assert snapshot.get("q", b"k") == b""
    assert filled.get("p", b"0001") == b"new"


def test_a_frozen_store_reads_a_snapshot_and_takes_no_writes(filled, snapshot):
    frozen = FrozenStore(snapshot)
    assert frozen.get_many("p", [b"0002", b"x"]) == filled.get_many("p", [b"0002", b"x"])
    ranges = [(b"0000", b"0003"), (b"2999", b"3")]
    assert frozen.snapshot("p", ranges) == filled.snapshot("p", ranges)
    with pytest.raises(TypeError):
        frozen.apply([Write("p", b"k", b"v")])
    with pytest.raises(TypeError):
        frozen.drop("p")


def test_a_damaged_database_is_reported(filled, database):
    assert integrity_problems(database) == []
    filled.close()
    content = bytearray(database.read_bytes())
    content[8192:8292] = b"\xff" * 100
    database.write_bytes(content)
    assert integrity_problems(database)
    with pytest.raises(Corrupt):
        SQLiteSnapshot(database).partitions()
