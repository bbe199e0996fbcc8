"""The journal of small blocks: who waits for what, how it ends, and what stands in its way."""

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


def keep(journal: Journal, root: Path, name: str) -> bool:
    """Keeps a block whose body is its name; returns whether that was done."""
    body = name.encode()
    (root / "space" / name).write_bytes(body)
    digest = hashlib.md5(body, usedforsecurity=False).digest()
    return journal.append_durable(f"space/{name}", digest, body)


def open_below(root: Path) -> list[str]:
    """Returns the files in a folder that this process has open."""
    links = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    return [target for target in links if target.startswith(f"{root}/")]


def synced_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list of the files that are synced from now on, each when it is."""
    synced: list[str] = []
    sync = os.fsync

    def noting(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    monkeypatch.setattr("os.fsync", noting)
    return synced


class TestKeeping:
    def test_a_thousand_blocks_of_sixteen_threads_are_all_there(self, root):
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
        assert keep(journal, root, "first")
        syncs, may_sync = [], threading.Semaphore(0)
        really_sync = os.fdatasync

        def sync(descriptor: int) -> None:
            syncs.append(descriptor)
            assert may_sync.acquire(timeout=TIMEOUT_SECONDS)
            really_sync(descriptor)

        monkeypatch.setattr("os.fdatasync", sync)
        kept = []
        threads = [
            threading.Thread(target=lambda n=number: kept.append(keep(journal, root, f"{n}")))
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

    def test_large_and_other_blocks_have_no_part_in_it(self, local, root):
        local.put("local://space/large", [b"x" * MAX_SMALL_BYTES, b"x"], unique_address=True)
        local.put("local://space/known", [b"x"])
        local.put("local://space/created", [b"x"], if_absent=True, unique_address=True)
        assert journals(root) == []
        assert local.read("local://space/large") == b"x" * (MAX_SMALL_BYTES + 1)
        local.put("local://space/small", [b"x" * (MAX_SMALL_BYTES - 1), b"x"], unique_address=True)
        assert unsynced(crashed(root)) == {"space/small"}


class TestSettling:
    def test_files_are_synced_before_the_segment_is_reused(self, journal, root, monkeypatch):
        assert keep(journal, root, "a")
        assert keep(journal, root, "b")
        synced = synced_files(monkeypatch)
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

    def test_many_files_are_synced_at_once(self, journal, root):
        for number in range(40):
            assert keep(journal, root, f"{number}")
        (root / "space/7").unlink()
        assert len(unsynced(crashed(root))) == 40
        assert journal.checkpoint()
        assert unsynced(crashed(root)) == set()
        assert keep(journal, root, "again")
        assert unsynced(crashed(root)) == {"space/again"}

    def test_comes_after_a_quiet_while(self, root):
        journal = journal_in(root, quiet_interval=0.05)
        for name in ("a", "b"):
            assert keep(journal, root, name)
            eventually(lambda name=name: not journal.is_pending(f"space/{name}"))
            assert unsynced(crashed(root)) == set()

    def test_comes_after_a_while_that_was_not_quiet(self, root):
        journal = journal_in(root, quiet_interval=0.02)
        assert keep(journal, root, "a")
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while journal.is_pending("space/a"):
            assert time.monotonic() < deadline
            assert keep(journal, root, "b")

    def test_comes_when_the_journal_is_long_while_puts_go_on(self, root):
        store = LocalBlocks(root, journal_bytes=2_000)
        for number in range(200):
            store.put(f"local://space/{number}", [b"x" * 300], unique_address=True)
        assert len(journals(root)) <= 2
        assert len(unsynced(crashed(root))) < 20
        store.close()

    def test_that_fails_writes_the_files_again(self, journal, root, monkeypatch, caplog):
        def failing(*_arguments: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        assert keep(journal, root, "a")
        (root / "space/a").write_bytes(b"")  # what the system has in memory is not to be trusted
        monkeypatch.setattr("anabranch.blocks.local.journal.journal.sync_files", failing)
        synced = synced_files(monkeypatch)
        assert journal.checkpoint()
        assert (root / "space/a").read_bytes() == b"a"
        assert f"{root}/space/a" in synced
        assert "rewritten" in caplog.text

    def test_that_fails_for_good_loses_nothing(self, journal, root, monkeypatch):
        def failing(*_arguments: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        assert keep(journal, root, "a")
        with monkeypatch.context() as broken:
            for name in ("sync_files", "sync_individually"):
                broken.setattr(f"anabranch.blocks.local.journal.journal.{name}", failing)
            assert not journal.checkpoint()
            assert journal.is_pending("space/a")
            assert keep(journal, root, "b")
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
    """Blocks that are removed or replaced while the journal has them."""

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


class TestHindered:
    @pytest.mark.parametrize(
        ("most", "said", "left"),
        [(5_200, "", ["0", "1", "2", "before"]), (900, "disk_full\n" * 3, ["before"])],
    )
    def test_a_full_disk_raises_busy_or_is_not_noticed(self, root, most, said, left):
        """The journal has no room, or the file itself has not."""
        done = subprocess.run(
            [sys.executable, "-c", FULL, root, str(most)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == said
        store = LocalBlocks(root)
        assert [path.name for path in sorted((root / "space").iterdir())] == left
        assert store.read("local://space/before") == b"x" * 5_000
        assert journals(root) == []

    def test_without_a_journal_blocks_are_synced_one_by_one(self, local, root, monkeypatch, caplog):
        (root / TEMPORARY / "journals").write_bytes(b"in the way")
        local.put("local://space/z", [b"x"])
        synced = synced_files(monkeypatch)
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

        assert keep(journal, root, "a")
        with monkeypatch.context() as interrupted:
            interrupted.setattr("os.fdatasync", interrupt)
            with pytest.raises(Interrupted):
                keep(journal, root, "b")
        assert keep(journal, root, "c")
        assert {"space/a", "space/c"} <= unsynced(crashed(root))


def test_blocks_that_wait_in_a_lane_share_a_sync(journal, root, monkeypatch):
    syncs, lane, kept = [], BatchScheduler(), []
    keep(journal, root, "first")  # it makes the journal
    monkeypatch.setattr(os, "fdatasync", syncs.append)
    for number in range(10):
        lane.start(keep, (journal, root, f"{number}"), lambda held, _: kept.append(held))
    assert not syncs
    lane.flush()
    lane.close()
    assert kept == [True] * 10
    assert len(syncs) == 1
