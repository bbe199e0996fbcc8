"""The journal of small blocks: group commit, checkpoints and faults."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.eventually import TIMEOUT_SECONDS, eventually
from support.faults.power_loss import journals, unsynced

from anabranch.batching.scheduler import BatchScheduler
from anabranch.blocks.local.files import TemporaryNames
from anabranch.blocks.local.folders import LocalFolders
from anabranch.blocks.local.journal.journal import Journal
from anabranch.blocks.local.journal.segment import Segment
from anabranch.blocks.local.paths import TEMPORARY
from anabranch.blocks.local.small_objects import MAX_SMALL_BYTES
from anabranch.blocks.local.store import LocalBlocks


def crashed(root: Path) -> Path:
    """Returns a copy of a folder as a crash would leave it now, with unlocked journals."""
    copy = root.with_name(f"crashed-{time.monotonic_ns()}")
    shutil.copytree(root, copy)
    return copy


@pytest.fixture
def journal(root: Path) -> Journal:
    """A journal without automatic checkpoints."""
    return journal_in(root, quiet_interval=threading.TIMEOUT_MAX)


def journal_in(root: Path, quiet_interval: float) -> Journal:
    """Returns a journal of a new folder."""
    (root / TEMPORARY).mkdir(parents=True)
    (root / "space").mkdir()
    names = TemporaryNames(f"{root}/{TEMPORARY}")
    folders = LocalFolders(str(root))
    return Journal(f"{names.folder}/journals", names, folders, quiet_interval=quiet_interval)


def append(journal: Journal, root: Path, name: str) -> bool:
    """Appends a block whose body is its name; returns whether the journal accepted it."""
    body = name.encode()
    (root / "space" / name).write_bytes(body)
    digest = hashlib.md5(body, usedforsecurity=False).digest()
    return journal.append_durable(f"space/{name}", digest, body)


def open_below(root: Path) -> list[str]:
    """Returns the files in a folder that this process has open."""
    links = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    return [target for target in links if target.startswith(f"{root}/")]


def file_of(descriptor: int) -> str:
    """Returns the path of an open file."""
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


def synced_files(monkeypatch: pytest.MonkeyPatch, root: Path) -> list[str]:
    """Returns a list to which each file in a folder is added when it is synced. The journal of an
    earlier test may still be at work in another.
    """
    synced: list[str] = []
    sync = os.fsync

    def noting(descriptor: int) -> None:
        path = file_of(descriptor)
        if path.startswith(f"{root}/"):
            synced.append(path)
        sync(descriptor)

    monkeypatch.setattr("os.fsync", noting)
    return synced


class TestAppending:
    def test_blocks_of_sixteen_threads_are_all_durable(self, root):
        store = LocalBlocks(root, journal_bytes=50_000)
        wrong = []

        def put(thread: int) -> None:
            for number in range(63):
                address = f"local://space/{thread}/{number}"
                store.put(address, [address.encode() * 10], unique_address=True)
                if store.read(address) != address.encode() * 10:
                    wrong.append(address)

        threads = [threading.Thread(target=put, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(list(store.list("local://space/"))) == 16 * 63
        store.close()
        assert journals(root) == []
        assert len(list(LocalBlocks(root).list("local://space/"))) == 16 * 63

    def test_blocks_that_arrive_during_a_sync_share_the_next(self, journal, root, monkeypatch):
        assert append(journal, root, "first")
        syncs, may_sync = [], threading.Semaphore(0)
        really_sync = os.fdatasync

        def sync(descriptor: int) -> None:
            if threading.current_thread() in threads:  # and not that of the journal's checkpoints
                syncs.append(descriptor)
                assert may_sync.acquire(timeout=TIMEOUT_SECONDS)
            really_sync(descriptor)

        monkeypatch.setattr("os.fdatasync", sync)
        kept = []
        threads = [
            threading.Thread(target=lambda n=number: kept.append(append(journal, root, f"{n}")))
            for number in range(10)
        ]
        threads[0].start()
        eventually(lambda: syncs)
        for thread in threads[1:]:
            thread.start()
        eventually(lambda: len(journal._appends._waiting) == 9)
        assert kept == []
        may_sync.release()
        eventually(lambda: len(syncs) == 2)
        eventually(lambda: len(kept) == 1)
        may_sync.release()
        for thread in threads:
            thread.join(TIMEOUT_SECONDS)
        assert kept == [True] * 10
        assert len(syncs) == 2

    def test_large_and_replaceable_blocks_are_not_in_the_journal(self, local, root):
        local.put("local://space/large", [b"x" * MAX_SMALL_BYTES, b"x"], unique_address=True)
        local.put("local://space/known", [b"x"])
        local.put("local://space/created", [b"x"], if_absent=True, unique_address=True)
        assert journals(root) == []
        assert local.read("local://space/large") == b"x" * (MAX_SMALL_BYTES + 1)
        local.put("local://space/small", [b"x" * (MAX_SMALL_BYTES - 1), b"x"], unique_address=True)
        assert unsynced(crashed(root)) == {"space/small"}


class TestCheckpoint:
    def test_files_are_synced_before_the_segment_is_reused(self, journal, root, monkeypatch):
        assert append(journal, root, "a")
        assert append(journal, root, "b")
        synced = synced_files(monkeypatch, root)
        restart = Segment.restart

        def noting_restart(file: Segment) -> None:
            synced.append("restart")
            restart(file)

        monkeypatch.setattr(Segment, "restart", noting_restart)
        assert journal.checkpoint()
        assert set(synced[:2]) == {f"{root}/space/a", f"{root}/space/b"}
        assert synced[2:] == [f"{root}/space", "restart"]
        assert not journal.is_pending("space/a")
        assert unsynced(crashed(root)) == set()

    def test_many_files_are_synced_concurrently(self, journal, root):
        for number in range(40):
            assert append(journal, root, f"{number}")
        (root / "space/7").unlink()
        assert len(unsynced(crashed(root))) == 40
        assert journal.checkpoint()
        assert unsynced(crashed(root)) == set()
        assert append(journal, root, "again")
        assert unsynced(crashed(root)) == {"space/again"}

    def test_starts_after_a_quiet_interval(self, root):
        journal = journal_in(root, quiet_interval=0.05)
        for name in ("a", "b"):
            assert append(journal, root, name)
            eventually(lambda name=name: not journal.is_pending(f"space/{name}"))
            assert unsynced(crashed(root)) == set()

    @pytest.mark.slow
    def test_starts_after_the_longest_interval(self, root):
        journal = journal_in(root, quiet_interval=0.02)
        assert append(journal, root, "a")
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while journal.is_pending("space/a"):
            assert time.monotonic() < deadline
            assert append(journal, root, "b")

    def test_starts_when_the_journal_is_long(self, root):
        store = LocalBlocks(root, journal_bytes=2_000)
        for number in range(200):
            store.put(f"local://space/{number}", [b"x" * 300], unique_address=True)
        assert len(journals(root)) <= 2
        assert len(unsynced(crashed(root))) < 20
        store.close()

    def test_that_fails_writes_the_files_again(self, journal, root, monkeypatch, caplog):
        def failing(*_arguments: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        assert append(journal, root, "a")
        (root / "space/a").write_bytes(b"")  # as if the page cache had lost the bytes
        monkeypatch.setattr("anabranch.blocks.local.journal.journal.sync_files", failing)
        synced = synced_files(monkeypatch, root)
        assert journal.checkpoint()
        assert (root / "space/a").read_bytes() == b"a"
        assert f"{root}/space/a" in synced
        assert "rewritten" in caplog.text

    def test_that_fails_permanently_loses_no_block(self, journal, root, monkeypatch):
        def failing(*_arguments: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        assert append(journal, root, "a")
        with monkeypatch.context() as broken:
            for name in ("sync_files", "sync_individually"):
                broken.setattr(f"anabranch.blocks.local.journal.journal.{name}", failing)
            assert not journal.checkpoint()
            assert journal.is_pending("space/a")
            assert append(journal, root, "b")
            assert unsynced(crashed(root)) == {"space/a", "space/b"}
        assert journal.checkpoint()
        assert unsynced(crashed(root)) == set()

    def test_at_the_end_leaves_no_file_and_no_descriptor(self, root):
        store = LocalBlocks(root)
        store.put("local://space/a", [b"x"], unique_address=True)
        assert open_below(root)
        store.close()
        store.close()
        assert journals(root) == []
        assert open_below(root) == []
        store.put("local://space/b", [b"y"], unique_address=True)
        assert store.read("local://space/b") == b"y"
        assert journals(root) == []


class TestChanged:
    """Blocks that are removed or replaced while they are in the journal."""

    def test_a_removed_block_does_not_come_back(self, local, root):
        local.put("local://space/a", [b"x"], unique_address=True)
        local.delete(["local://space/a"])
        local.put("local://space/b", [b"x"], unique_address=True)
        again = LocalBlocks(crashed(root))
        assert [info.address for info in again.list("local://")] == ["local://space/b"]

    @pytest.mark.parametrize("way", ["put", "unique", "copy"])
    def test_a_replaced_block_stays_replaced(self, local, root, way):
        local.put("local://space/a", [b"first"], unique_address=True)
        if way == "copy":
            local.put("local://space/b", [b"second"], unique_address=True)
            local.copy("local://space/b", "local://space/a")
        else:
            local.put("local://space/a", [b"second"], unique_address=way == "unique")
        assert LocalBlocks(crashed(root)).read("local://space/a") == b"second"


FULL = """
import resource, sys
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy
store = LocalBlocks(sys.argv[1])
store.put("local://space/before", [b"x" * 5_000], unique_address=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for number in range(3):
    try:
        store.put(f"local://space/{number}", [b"y" * 5_000], unique_address=True)
    except Busy as error:
        print(error.kind)
"""


class TestFaults:
    @pytest.mark.parametrize(
        ("limit", "message", "remaining"),
        [(5_200, "", ["0", "1", "2", "before"]), (900, "disk_full\n" * 3, ["before"])],
    )
    def test_a_full_disk_raises_busy_or_has_no_effect(self, root, limit, message, remaining):
        """Either the journal or the file itself reaches the limit."""
        done = subprocess.run(
            [sys.executable, "-c", FULL, root, str(limit)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == message
        store = LocalBlocks(root)
        assert [path.name for path in sorted((root / "space").iterdir())] == remaining
        assert store.read("local://space/before") == b"x" * 5_000
        assert journals(root) == []

    def test_without_a_journal_each_block_is_synced(self, local, root, monkeypatch, caplog):
        (root / TEMPORARY / "journals").write_bytes(b"in the way")
        local.put("local://space/z", [b"x"])
        synced = synced_files(monkeypatch, root)
        local.put("local://space/a", [b"x"], unique_address=True)
        assert synced[-2:] == [str(root / "space/a"), str(root / "space")]
        local.put("local://space/b", [b"x"], unique_address=True)
        assert caplog.text.count("the journal cannot be written") == 1

    def test_a_forked_process_leaves_its_parents_journal_alone(self, local, root):
        local.put("local://space/a", [b"x"], unique_address=True)
        (length,) = [len(path.read_bytes().rstrip(b"\0")) for path in journals(root)]
        child = os.fork()
        if not child:
            try:
                local.put("local://space/b", [b"y"], unique_address=True)
                local.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert local.read("local://space/b") == b"y"
        assert [len(path.read_bytes().rstrip(b"\0")) for path in journals(root)] == [length]
        assert journals(root)

    def test_an_interrupted_leader_does_not_block_others(self, journal, root, monkeypatch):
        class Interrupted(BaseException):
            pass

        def interrupt(_descriptor: int) -> None:
            raise Interrupted

        assert append(journal, root, "a")
        with monkeypatch.context() as interrupted:
            interrupted.setattr("os.fdatasync", interrupt)
            with pytest.raises(Interrupted):
                append(journal, root, "b")
        assert append(journal, root, "c")
        assert {"space/a", "space/c"} <= unsynced(crashed(root))


def test_batched_blocks_share_a_sync(journal, root, monkeypatch):
    syncs, scheduler, kept = [], BatchScheduler(), []
    append(journal, root, "first")  # it makes the journal

    def sync(descriptor: int) -> None:
        if file_of(descriptor).startswith(f"{root}/"):  # not of an earlier test
            syncs.append(descriptor)

    monkeypatch.setattr(os, "fdatasync", sync)
    for number in range(10):
        scheduler.start(append, (journal, root, f"{number}"), lambda held, _: kept.append(held))
    assert not syncs
    list(scheduler.steps())
    scheduler.close()
    assert kept == [True] * 10
    assert len(syncs) == 1
