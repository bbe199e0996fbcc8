"""Tables brought to this machine and made durable from it."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Busy, Conflict, Corrupt, Gone, Invalid
from anabranch.testing.stores import FaultyBlocks, fail_at

NAMESPACE = "mem://space"
BIG = 1 << 30


def table(number: int, size: int = 1_000) -> tuple[str, bytes]:
    """Returns a table's id and bytes; here the id is the digest of all of it."""
    body = number.to_bytes(4, "big") * (size // 4)
    return hashlib.sha256(body).hexdigest(), body


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class Elsewhere:
    """A store that is not on this machine, with a count of what is asked of it."""

    def __init__(self, folder: Path, capacity: int = BIG, grace: float = 0.0) -> None:
        self.asked: Counter[str] = Counter()
        self.delay = 0.0
        self.blocks = MemoryBlocks()
        self.faulty = FaultyBlocks(self.blocks, self.count)
        self.cache = TableCache(self.faulty, folder, capacity, verify=digest, grace_seconds=grace)

    def count(self, step: str, _address: str) -> None:
        self.asked[step] += 1
        if step == "get":
            time.sleep(self.delay)

    def add(self, number: int, size: int = 1_000, namespace: str = NAMESPACE) -> str:
        table_id, body = table(number, size)
        self.blocks.put(f"{namespace}/_lakefs/{table_id}", [body])
        return table_id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def elsewhere(folder: Path) -> Elsewhere:
    return Elsewhere(folder)


class TestLocate:
    def test_downloads_once(self, elsewhere):
        table_id = elsewhere.add(1)
        path = elsewhere.cache.locate(NAMESPACE, table_id)
        assert Path(path).read_bytes() == table(1)[1]
        assert elsewhere.cache.locate(f"{NAMESPACE}/", table_id) == path
        assert elsewhere.asked["get"] == 1

    def test_shares_between_namespaces_and_stores(self, elsewhere, folder):
        """The id determines the content of a table, in every repository."""
        table_id = elsewhere.add(1)
        elsewhere.cache.locate(NAMESPACE, table_id)
        other = Elsewhere(folder)
        assert digest(other.cache.locate("mem://other", table_id)) == table_id
        assert other.asked["get"] == 0

    def test_downloads_once_for_many_threads(self, elsewhere):
        elsewhere.delay = 0.05
        ids = [elsewhere.add(number) for number in range(3)]
        found: list[str] = []
        threads = [
            threading.Thread(
                target=lambda table_id=table_id: found.append(
                    elsewhere.cache.locate(NAMESPACE, table_id)
                )
            )
            for table_id in ids * 8
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 24
        assert elsewhere.asked["get"] == 3

    def test_names_what_is_missing(self, elsewhere):
        table_id, _ = table(1)
        for _ in range(2):
            with pytest.raises(Gone, match=f"{NAMESPACE}/_lakefs/{table_id}") as gone:
                elsewhere.cache.locate(NAMESPACE, table_id)
            assert gone.value.kind == "metadata_missing"
        elsewhere.add(1)
        assert elsewhere.cache.locate(NAMESPACE, table_id)

    def test_refuses_what_is_damaged_and_keeps_none_of_it(self, elsewhere, folder):
        table_id, body = table(1)
        for damaged in (body[:-1], body + b"x", b"", b"x" + body[1:]):
            elsewhere.blocks.put(f"{NAMESPACE}/_lakefs/{table_id}", [damaged])
            with pytest.raises(Corrupt, match=table_id) as corrupt:
                elsewhere.cache.locate(NAMESPACE, table_id)
            assert corrupt.value.path == f"{NAMESPACE}/_lakefs/{table_id}"
            assert [path.name for path in folder.iterdir() if path.name != "lock"] == []

    def test_refuses_what_cannot_be_verified(self, elsewhere, folder):
        def unreadable(path: str) -> str:
            raise ValueError(path)

        cache = TableCache(elsewhere.blocks, folder, BIG, verify=unreadable)
        with pytest.raises(Corrupt, match="_lakefs"):
            cache.locate(NAMESPACE, elsewhere.add(1))

    def test_that_is_cut_off_leaves_the_next_to_try(self, folder):
        elsewhere = Elsewhere(folder)
        table_id = elsewhere.add(1)
        elsewhere.faulty.before = fail_at("get", 1, Busy("the network is down"))
        with pytest.raises(Busy):
            elsewhere.cache.locate(NAMESPACE, table_id)
        assert digest(elsewhere.cache.locate(NAMESPACE, table_id)) == table_id

    @pytest.mark.parametrize(
        "table_id", ["", "dummy", "..", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n"]
    )
    def test_refuses_what_is_no_id(self, elsewhere, table_id):
        with pytest.raises(Invalid):
            elsewhere.cache.locate(NAMESPACE, table_id)


class TestCapacity:
    def held(self, folder: Path) -> set[str]:
        return {path.name for path in folder.iterdir() if len(path.name) == 64}

    def test_is_kept_by_removing_what_was_not_asked_for_longest(self, folder):
        elsewhere = Elsewhere(folder, capacity=4_280)  # a batch leaves 4,013
        ids = [elsewhere.add(number) for number in range(8)]
        for table_id in ids[:4]:
            elsewhere.cache.locate(NAMESPACE, table_id)
            time.sleep(0.02)
        assert self.held(folder) == set(ids[:4])
        elsewhere.cache.locate(NAMESPACE, ids[0])
        time.sleep(0.02)
        elsewhere.cache.locate(NAMESPACE, ids[4])
        assert self.held(folder) == {ids[0], ids[2], ids[3], ids[4]}
        time.sleep(0.02)
        elsewhere.cache.locate(NAMESPACE, elsewhere.add(9, size=3_000))
        assert self.held(folder) >= {ids[4], table(9, 3_000)[0]}
        assert sum((folder / name).stat().st_size for name in self.held(folder)) <= 4_280

    def test_does_not_take_what_was_just_given_out(self, folder):
        elsewhere = Elsewhere(folder, capacity=0, grace=60)
        ids = [elsewhere.add(number) for number in range(5)]
        paths = [elsewhere.cache.locate(NAMESPACE, table_id) for table_id in ids]
        assert all(Path(path).exists() for path in paths)

    def test_zero_still_serves(self, folder):
        """A file that is removed immediately is downloaded again until it is held open."""
        elsewhere = Elsewhere(folder, capacity=0, grace=0.05)
        table_id = elsewhere.add(1)
        with Path(elsewhere.cache.locate(NAMESPACE, table_id)).open("rb") as file:
            time.sleep(0.1)
            elsewhere.cache.locate(NAMESPACE, elsewhere.add(2))
            assert table_id not in self.held(folder)
            assert file.read() == table(1)[1]


DOWNLOAD = """
import sys, time
from anabranch.blocks.memory import MemoryBlocks
from anabranch.blocks.cache.table_cache import TableCache
class Slow(MemoryBlocks):
    def get(self, address, start=0, length=None):
        print("got", flush=True)
        yield b"part"
        time.sleep(float(sys.argv[3]))
        yield b" and rest"
blocks = Slow()
cache = TableCache(blocks, sys.argv[1], 1 << 20, verify=lambda path: sys.argv[2])
print(open(cache.locate("mem://space", sys.argv[2])).read(), flush=True)
"""


class TestProcesses:
    def start(self, folder: Path, seconds: float) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", DOWNLOAD, folder, "a" * 64, str(seconds)],
            stdout=subprocess.PIPE,
            text=True,
        )

    def test_download_once(self, folder):
        with self.start(folder, 0.5) as first, self.start(folder, 0.5) as second:
            words = (first.communicate()[0] + second.communicate()[0]).splitlines()
        assert Counter(words) == {"got": 1, "part and rest": 2}

    def test_take_over_from_one_that_is_killed(self, folder):
        with self.start(folder, 60) as killed:
            assert killed.stdout.readline() == "got\n"
            with self.start(folder, 0) as heir:
                time.sleep(0.3)  # long enough to be waiting, mostly
                assert heir.poll() is None
                killed.send_signal(signal.SIGKILL)
                assert heir.communicate()[0].splitlines() == ["got", "part and rest"]
        assert sorted(path.name for path in folder.iterdir()) == ["a" * 64, "lock", "total"]

    def test_are_fetched_again_after_a_killed_process(self, folder):
        with self.start(folder, 60) as killed:
            assert killed.stdout.readline() == "got\n"
            killed.send_signal(signal.SIGKILL)
        assert [path.name for path in folder.iterdir()] == ["a" * 64 + ".part"]
        with self.start(folder, 0) as heir:
            assert heir.communicate()[0].splitlines() == ["got", "part and rest"]
        assert sorted(path.name for path in folder.iterdir()) == ["a" * 64, "lock", "total"]


class TestAdopt:
    def write(self, folder: str, numbers: range) -> list[str]:
        tables = [table(number) for number in numbers]
        for table_id, body in tables:
            (Path(folder) / table_id).write_bytes(body)
        return [table_id for table_id, _ in tables]

    @pytest.mark.parametrize("count", [0, 1, 20])
    def test_uploads_and_keeps(self, elsewhere, count):
        folder = elsewhere.cache.write_folder(NAMESPACE)
        ids = self.write(folder, range(count))
        elsewhere.cache.adopt(NAMESPACE, folder, ids)
        for number, table_id in enumerate(ids):
            assert elsewhere.blocks.read(f"{NAMESPACE}/_lakefs/{table_id}") == table(number)[1]
            assert digest(elsewhere.cache.locate(NAMESPACE, table_id)) == table_id
        assert elsewhere.asked["get"] == 0
        assert not Path(folder).exists()

    def test_uploads_nothing_twice(self, elsewhere):
        for _ in range(2):
            folder = elsewhere.cache.write_folder(NAMESPACE)
            elsewhere.cache.adopt(NAMESPACE, folder, self.write(folder, range(3)))
        assert elsewhere.asked["put"] == 3

    def test_that_fails_may_be_repeated(self, elsewhere):
        folder = elsewhere.cache.write_folder(NAMESPACE)
        ids = self.write(folder, range(5))
        elsewhere.faulty.before = fail_at("chunk", 3, Busy("slow down"))
        with pytest.raises(Busy):
            elsewhere.cache.adopt(NAMESPACE, folder, ids)
        elsewhere.cache.adopt(NAMESPACE, folder, ids)
        assert all(elsewhere.blocks.stat(f"{NAMESPACE}/_lakefs/{table_id}") for table_id in ids)

    def test_keeps_the_capacity(self, folder):
        elsewhere = Elsewhere(folder, capacity=2_500)
        scratch = elsewhere.cache.write_folder(NAMESPACE)
        elsewhere.cache.adopt(NAMESPACE, scratch, self.write(scratch, range(5)))
        assert len([path for path in folder.iterdir() if len(path.name) == 64]) == 2

    def test_folders_left_behind_are_cleaned(self, elsewhere):
        old, new = elsewhere.cache.write_folder(NAMESPACE), elsewhere.cache.write_folder(NAMESPACE)
        self.write(old, range(2))
        os.utime(old, (time.time() - 1_000, time.time() - 1_000))
        assert elsewhere.cache.clean_temporaries(500) == 1
        assert not Path(old).exists()
        assert Path(new).exists()


class TestWrite:
    """New tables are written and made durable, independently of the cache's folder."""

    def make(self, elsewhere: Elsewhere, before: Callable[[str], None]) -> list[str]:
        def written(folder: str) -> list[str]:
            before(folder)
            return TestAdopt().write(folder, range(3))

        return elsewhere.cache.write(NAMESPACE, written, lambda ids: ids)

    def check(self, elsewhere: Elsewhere, ids: list[str]) -> None:
        for number, table_id in enumerate(ids):
            assert elsewhere.blocks.read(f"{NAMESPACE}/_lakefs/{table_id}") == table(number)[1]

    def test_keeps_what_it_uploads(self, elsewhere, folder):
        ids = self.make(elsewhere, lambda _: None)
        self.check(elsewhere, ids)
        assert {path.name for path in folder.iterdir()} == {*ids, "lock", "total"}

    def test_makes_a_folder_that_was_removed(self, elsewhere, folder):
        shutil.rmtree(folder)
        self.check(elsewhere, self.make(elsewhere, lambda _: None))
        assert (folder / table(0)[0]).exists()

    def test_starts_again_if_the_folder_is_removed_meanwhile(self, elsewhere, folder):
        removals = [1, 2]
        tried = []

        def remove(given: str) -> None:
            tried.append(given)
            if removals:
                removals.pop()
                shutil.rmtree(folder)

        self.check(elsewhere, self.make(elsewhere, remove))
        assert len(tried) == 3

    def test_gives_up_where_the_folder_is_always_removed(self, elsewhere, folder):
        with pytest.raises(FileNotFoundError):
            self.make(elsewhere, lambda _: shutil.rmtree(folder))

    @pytest.mark.parametrize("full", [1, 2])
    def test_goes_elsewhere_while_the_disk_is_full(self, elsewhere, folder, full):
        tried: list[str] = []

        def refuse(given: str) -> None:
            tried.append(given)
            if len(tried) <= full:
                raise OSError(errno.ENOSPC, "full")

        self.check(elsewhere, self.make(elsewhere, refuse))
        assert len({Path(given).parent for given in tried}) == full + 1
        assert not any(Path(given).exists() for given in tried)
        assert [path.name for path in folder.iterdir()] == []

    def test_full_disk_is_reported_from_everywhere(self, elsewhere):
        def refuse(_: str) -> None:
            raise OSError(errno.ENOSPC, "full")

        with pytest.raises(OSError, match="full"):
            self.make(elsewhere, refuse)

    def test_uploads_nothing_where_nothing_was_made(self, elsewhere, folder):
        def refuse(_: str) -> None:
            raise Conflict("both sides")

        with pytest.raises(Conflict):
            self.make(elsewhere, refuse)
        assert elsewhere.asked["put"] == 0
        assert [path.name for path in folder.iterdir()] == []


class TestRepair:
    def test_removes_what_is_not_what_its_name_says(self, elsewhere, caplog):
        table_id = elsewhere.add(1)
        path = elsewhere.cache.locate(NAMESPACE, table_id)
        assert elsewhere.cache.repair(path) == "sound"
        Path(path).write_bytes(b"damaged")
        assert elsewhere.cache.repair(path) == "removed"
        assert path in caplog.text
        assert digest(elsewhere.cache.locate(NAMESPACE, table_id)) == table_id

    def test_leaves_files_that_are_not_the_caches(self, elsewhere, folder, tmp_path):
        elsewhere.cache.locate(NAMESPACE, elsewhere.add(1))
        for path in (tmp_path / ("a" * 64), folder / "lock", folder / "sub" / ("a" * 64)):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"kept")
            assert elsewhere.cache.repair(str(path)) == "not cached"
            assert path.read_bytes() == b"kept"

    def test_never_removes_a_table_of_the_store_itself(self, tmp_path):
        blocks = LocalBlocks(tmp_path / "block")
        for folder in ("cache", "block/space/_lakefs"):
            cache = TableCache(blocks, tmp_path / folder, BIG, verify=digest)
            path = Path(cache.write_folder("local://space")) / table(1)[0]
            path.write_bytes(b"damaged")
            assert cache.repair(str(path)) == "not cached"
            assert path.exists()


class TestLocal:
    @pytest.fixture
    def blocks(self, root: Path) -> LocalBlocks:
        return LocalBlocks(root)

    @pytest.fixture
    def cache(self, blocks: LocalBlocks, folder: Path) -> TableCache:
        return TableCache(blocks, folder, BIG, verify=digest)

    def test_tables_are_used_where_they_lie(self, blocks, cache, root, folder):
        table_id, body = table(1)
        blocks.put(f"local://space/_lakefs/{table_id}", [body])
        for namespace in ("local://space", "local://space/", f"local://{root}/space"):
            assert cache.locate(namespace, table_id) == str(root / "space/_lakefs" / table_id)
        assert list(folder.iterdir()) == []

    def test_tables_are_written_where_they_stay(self, blocks, cache, root):
        folder = cache.write_folder("local://space")
        assert folder == str(root / "space/_lakefs")
        table_id, body = table(1)
        (Path(folder) / table_id).write_bytes(body)
        cache.adopt("local://space", folder, [table_id])
        assert cache.locate("local://space", table_id) == f"{folder}/{table_id}"
        assert blocks.read(f"local://space/_lakefs/{table_id}") == body

    def test_tables_written_elsewhere_are_brought(self, cache, blocks, tmp_path):
        table_id, body = table(1)
        (tmp_path / table_id).write_bytes(body)
        cache.adopt("local://space", str(tmp_path), [table_id])
        assert blocks.read(f"local://space/_lakefs/{table_id}") == body
        assert (tmp_path / table_id).exists()

    def test_names_what_is_missing(self, cache):
        with pytest.raises(Gone, match="local://space/_lakefs/" + "a" * 64):
            cache.locate("local://space", "a" * 64)

    @pytest.mark.parametrize("namespace", ["local://..", "local://a/../..", "mem://a", "local://"])
    def test_hostile_namespaces_are_refused(self, cache, namespace):
        with pytest.raises(Invalid):
            cache.locate(namespace, "a" * 64)
        with pytest.raises(Invalid):
            cache.write_folder(namespace)
