"""SQLite as a key-value store: the file, its log, its threads and its forks."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest
from support.session.sizes import sized

from anabranch.errors import Busy, Corrupt, Invalid, NotFound, NotSupported
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.database import SCHEMA_VERSION
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.keyvalue.sqlite.writer import CheckpointPolicy, Work


def raw(path) -> apsw.Connection:
    """Opens a database as another program would."""
    return apsw.Connection(str(path))


def log_bytes(database: Path) -> int:
    return Path(f"{database}-wal").stat().st_size


class TestOpening:
    def test_preserves_content(self, database):
        store = SQLiteStore(database)
        store.apply([Write("p", b"k", b"v")])
        store.close()
        again = SQLiteStore(database)
        assert again.get("p", b"k") == b"v"
        again.close()

    @pytest.mark.usefixtures("sqlite")
    def test_sets_application_id_and_version(self, database):
        other = raw(database)
        assert other.pragma("user_version") == SCHEMA_VERSION
        assert other.pragma("application_id") == int.from_bytes(b"Anab", "big")
        assert other.pragma("journal_mode") == "wal"

    def test_concurrent_openings_create_one_database(self, database):
        stores = []
        threads = [
            threading.Thread(target=lambda: stores.append(SQLiteStore(database))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(stores) == 8
        stores[0].apply([Write("p", b"k", b"v")])
        for store in stores:
            assert store.get("p", b"k") == b"v"
            store.close()

    def test_turns_empty_file_into_database(self, database):
        database.touch()
        store = SQLiteStore(database)
        assert store.apply([Write("p", b"k", b"v")])
        store.close()

    def test_follows_symlink(self, database, sqlite, tmp_path):
        (tmp_path / "link.db").symlink_to(database)
        linked = SQLiteStore(tmp_path / "link.db")
        linked.apply([Write("p", b"k", b"v")])
        assert sqlite.get("p", b"k") == b"v"
        linked.close()
        assert not (tmp_path / "link.db-wal").exists()

    def test_upgrades_schema_version_1(self, database, sqlite):
        sqlite.apply([Write("p", b"k", b"v")])
        sqlite.close()
        raw(database).execute("PRAGMA user_version = 1")
        store = SQLiteStore(database)
        assert raw(database).pragma("user_version") == SCHEMA_VERSION == 2
        assert store.get("p", b"k") == b"v"
        store.close()

    def test_rejects_newer_version(self, database, sqlite):
        sqlite.close()
        raw(database).execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        with pytest.raises(NotSupported, match=f"version {SCHEMA_VERSION + 1}") as refused:
            SQLiteStore(database)
        assert refused.value.kind == "newer_schema"

    @pytest.mark.parametrize("body", [b"no database" * 100, b"\0" * 4_096, os.urandom(10_000)])
    def test_rejects_file_of_another_kind(self, database, body):
        database.write_bytes(body)
        with pytest.raises(Corrupt, match=str(database)) as corrupt:
            SQLiteStore(database)
        assert corrupt.value.path == str(database)
        assert database.read_bytes() == body

    def test_rejects_database_of_another_program(self, database):
        raw(database).execute("CREATE TABLE theirs (id)")
        with pytest.raises(Corrupt, match="not one of Anabranch"):
            SQLiteStore(database)
        names = [name for (name,) in raw(database).execute("SELECT name FROM sqlite_schema")]
        assert names == ["theirs"]

    def test_rejects_missing_folder(self, tmp_path):
        with pytest.raises(NotFound, match="missing"):
            SQLiteStore(tmp_path / "missing" / "db")

    def test_rejects_read_only_folder(self, database):
        Path(f"{database}-queue").mkdir()
        with pytest.raises(Busy, match="cannot open"):
            SQLiteStore(database)

    def test_rejects_folder_as_path(self, database):
        database.mkdir()
        with pytest.raises(Busy, match=str(database)):
            SQLiteStore(database)

    def test_reports_damaged_pages(self, database, sqlite):
        sqlite.apply([Write("p", b"%05d" % number, b"v" * 100) for number in range(2_000)])
        sqlite.close()
        with database.open("r+b") as file:
            file.seek(4_096)
            file.write(b"\xa5" * (database.stat().st_size - 4_096))
        store = SQLiteStore(database)
        for use in (
            lambda: store.get("p", b"00000"),
            lambda: list(store.scan("p")),
            lambda: store.apply([Write("p", b"00000", b"")]),
        ):
            with pytest.raises(Corrupt, match=str(database)) as corrupt:
                use()
            assert corrupt.value.path == str(database)
        store.close()


class TestReading:
    def test_does_not_wait_for_a_writer(self, database, sqlite):
        sqlite.apply([Write("p", b"k", b"old")])
        other = SQLiteStore(database)
        begun, go_on = threading.Event(), threading.Event()

        def slowly(cursor: apsw.Cursor) -> int:
            cursor.execute("UPDATE kv SET value = x'00'")
            begun.set()
            assert go_on.wait(60)
            return 0

        writer = threading.Thread(target=other._writes.submit, args=(Work(slowly),))
        writer.start()
        assert begun.wait(60)
        assert sqlite.get("p", b"k") == b"old"
        assert sqlite.get_many("p", [b"k"]) == [b"old"]
        assert list(sqlite.scan("p")) == [(b"k", b"old")]
        go_on.set()
        writer.join()
        assert sqlite.get("p", b"k") == b"\0"
        other.close()

    def test_sees_writes_of_another_store_at_once(self, database, sqlite):
        other = SQLiteStore(database)
        for number in range(50):
            value = b"%d" % number
            other.apply([Write("p", b"k", value)])
            assert sqlite.get("p", b"k") == value
        other.close()

    def test_unfinished_scan_holds_no_lock(self, database, sqlite):
        sqlite.apply([Write("p", b"%05d" % number, b"v" * 500) for number in range(500)])
        lying = sqlite.scan("p")
        next(lying)
        other = raw(database)
        assert other.execute("SELECT count(*) FROM kv").get == 500
        other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        assert log_bytes(database) == 0
        assert len(list(lying)) == 499

    def test_connections_are_closed_with_their_threads(self, sqlite):
        for _ in range(20):
            reader = threading.Thread(target=sqlite.get, args=("p", b"k"))
            reader.start()
            reader.join()
        assert len(sqlite._readers) == 0


class TestWriting:
    def test_every_commit_is_synced(self, sqlite):
        sqlite.apply([Write("p", b"k", b"v")])
        full = 2  # PRAGMA synchronous: NORMAL, which is 1, syncs the log only at checkpoints
        assert sqlite._writer._open().pragma("synchronous") == full

    def test_lock_of_another_program_times_out(self, database):
        store = SQLiteStore(database, timeout_seconds=0.3)
        other = raw(database)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy) as busy:
            store.apply([Write("p", b"k", b"v")])
        assert busy.value.kind == "locked"
        other.execute("ROLLBACK")
        assert store.get("p", b"k") is None
        assert store.apply([Write("p", b"k", b"v")])
        store.close()

    def test_waits_for_short_lock(self, database, sqlite):
        other = raw(database)
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
        release.start()
        assert sqlite.apply([Write("p", b"k", b"v")])
        release.join()

    @pytest.mark.parametrize("key", ["text", 5, None, 1.5])
    def test_rejects_values_other_than_bytes(self, sqlite, key):
        with pytest.raises(Invalid):
            sqlite.apply([Write("p", key, b"v")])
        if key is not None:
            with pytest.raises(Invalid):
                sqlite.apply([Write("p", b"k", key)])
        assert list(sqlite.scan("p")) == []

    def test_rejects_too_large_value(self, sqlite):
        with pytest.raises(Invalid):
            sqlite.apply([Write("p", b"a", b"v"), Write("p", b"k", bytes(1_000_000_001))])
        assert list(sqlite.scan("p")) == []

    def test_closed_store_raises_busy(self, database):
        store = SQLiteStore(database)
        store.get("p", b"k")
        store.close()
        for use in (
            lambda: store.get("p", b"k"),
            lambda: store.get_many("p", [b"k"]),
            lambda: list(store.scan("p")),
            lambda: store.apply([Write("p", b"k", b"v")]),
            lambda: store.drop("p"),
        ):
            with pytest.raises(Busy, match="closed"):
                use()
        store.close()

    def test_writes_proceed_between_slices_of_drop(self, sqlite):
        sqlite.apply([Write("p", b"%06d" % number, b"v" * 50) for number in range(30_000)])
        dropping = threading.Thread(target=sqlite.drop, args=("p",))
        dropping.start()
        meanwhile = []
        while dropping.is_alive():
            before = sqlite._writer.transactions
            sqlite.apply([Write("q", b"%d" % len(meanwhile), b"")])
            meanwhile.append(sqlite._writer.transactions - before)
        dropping.join()
        assert len(meanwhile) >= 5
        # a write waits for the slice that is being removed, not for all of them
        assert statistics.median(meanwhile) <= 4
        assert list(sqlite.scan("p")) == []
        assert len(list(sqlite.scan("q"))) == len(meanwhile)


class TestLog:
    @pytest.mark.slow
    def test_log_stays_short_while_readers_overlap(self, database):
        sqlite = SQLiteStore(database, checkpoints=CheckpointPolicy(50, 200))
        sqlite.apply([Write("p", b"%05d" % number, b"v" * 100) for number in range(500)])
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                for _ in sqlite.scan("p"):
                    pass

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        longest, total = 0, sized(400, weekly=1_000)
        for number in range(total):
            sqlite.apply([Write("p", b"%05d" % (number % 500), os.urandom(3_000))])
            longest = max(longest, log_bytes(database))
        done.set()
        for reader in readers:
            reader.join()
        pages = longest / 4_120
        assert 50 < pages < 1.5 * total, "more than 3 pages were written each time"
        sqlite.close()

    def test_log_is_checkpointed_despite_endless_foreign_reader(self, database):
        sqlite = SQLiteStore(database, checkpoints=CheckpointPolicy(20, 60, 20))
        sqlite.apply([Write("p", b"k", b"old")])
        foreign = raw(database)
        foreign.execute("BEGIN")
        assert foreign.execute("SELECT value FROM kv").get == b"old"
        start = time.monotonic()
        for number in range(150):
            assert sqlite.apply([Write("p", b"k", b"%d" % number)])
        assert time.monotonic() - start < 60, "writers do not wait for it"
        assert foreign.execute("SELECT value FROM kv").get == b"old"
        foreign.execute("COMMIT")
        assert foreign.execute("SELECT value FROM kv").get == b"149"
        sqlite.close()


FORK = """
import os, sys, threading
from anabranch.errors import NotSupported
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.sqlite.store import SQLiteStore
path = sys.argv[1]
closed = SQLiteStore(path + "-closed")
closed.apply([Write("p", b"k", b"v")])
closed.close()
store = SQLiteStore(path)
store.apply([Write("p", b"parent", b"1")])
stop = threading.Event()
def busy(number):
    while not stop.is_set():
        store.apply([Write("p", b"busy-%d" % number, os.urandom(8))])
        store.get("p", b"parent")
threads = [threading.Thread(target=busy, args=(number,), daemon=True) for number in range(3)]
for thread in threads:
    thread.start()
def refused(use):
    try:
        use()
    except NotSupported as error:
        return error.kind == "forked"
def child():
    assert refused(lambda: store.get("p", b"parent"))
    assert refused(lambda: store.get_many("p", [b"parent"]))
    assert refused(lambda: list(store.scan("p")))
    assert refused(lambda: store.apply([Write("p", b"child", b"")]))
    assert refused(lambda: store.drop("p"))
    assert refused(lambda: SQLiteStore(path))
    store.close()
def use_other():
    other = SQLiteStore(path + "-closed")
    assert other.apply([Write("p", b"%d" % os.getpid(), b"")], [Expect("p", b"k", b"v")])
    other.close()
def fork(run, leave):
    pid = os.fork()
    if pid == 0:
        run()
        leave(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
for number in range(5):
    fork(child, os._exit)  # what a thread had locked in SQLite stays locked, also when it closes
stop.set()
for thread in threads:
    thread.join()
for number in range(5):
    fork(lambda: (child(), use_other()), sys.exit)
assert store.apply([Write("p", b"parent", b"2")], [Expect("p", b"parent", b"1")])
store.close()
"""


def test_forked_process_is_rejected_without_side_effects(database):
    subprocess.run([sys.executable, "-c", FORK, database], check=True, timeout=60)
    store = SQLiteStore(database)
    assert [key for key, _ in store.scan("p")] == [b"busy-0", b"busy-1", b"busy-2", b"parent"]
    assert store.get("p", b"parent") == b"2"
    store.close()
    assert raw(database).execute("PRAGMA integrity_check").get == "ok"
    others = SQLiteStore(f"{database}-closed")
    assert sum(1 for _ in others.scan("p")) == 6
    others.close()
