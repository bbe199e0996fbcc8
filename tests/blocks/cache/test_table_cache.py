"""The local cache of tables, and the upload of new tables."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy, Corrupt, Gone, Invalid
from anabranch.testing.stores import fail_at

from .conftest import BIG, NAMESPACE, CountingStore, digest, table


class TestLocate:
    def test_downloads_once(self, remote):
        table_id = remote.add(1)
        path = remote.cache.locate(NAMESPACE, table_id)
        assert Path(path).read_bytes() == table(1)[1]
        assert remote.cache.locate(f"{NAMESPACE}/", table_id) == path
        assert remote.calls["get"] == 1

    def test_shares_between_namespaces_and_stores(self, remote, folder):
        """The id determines the content of a table, in every repository."""
        table_id = remote.add(1)
        remote.cache.locate(NAMESPACE, table_id)
        other = CountingStore(folder)
        assert digest(other.cache.locate("mem://other", table_id)) == table_id
        assert other.calls["get"] == 0

    def test_downloads_once_for_many_threads(self, remote):
        remote.delay = 0.05
        ids = [remote.add(number) for number in range(3)]
        paths: list[str] = []
        threads = [
            threading.Thread(
                target=lambda table_id=table_id: paths.append(
                    remote.cache.locate(NAMESPACE, table_id)
                )
            )
            for table_id in ids * 8
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(paths) == 24
        assert remote.calls["get"] == 3

    def test_names_a_missing_table(self, remote):
        table_id, _ = table(1)
        for _ in range(2):
            with pytest.raises(Gone, match=f"{NAMESPACE}/_lakefs/{table_id}") as gone:
                remote.cache.locate(NAMESPACE, table_id)
            assert gone.value.kind == "metadata_missing"
        remote.add(1)
        assert remote.cache.locate(NAMESPACE, table_id)

    def test_refuses_and_removes_damaged_tables(self, remote, folder):
        table_id, body = table(1)
        for damaged in (body[:-1], body + b"x", b"", b"x" + body[1:]):
            remote.blocks.put(f"{NAMESPACE}/_lakefs/{table_id}", [damaged])
            with pytest.raises(Corrupt, match=table_id) as corrupt:
                remote.cache.locate(NAMESPACE, table_id)
            assert corrupt.value.path == f"{NAMESPACE}/_lakefs/{table_id}"
            assert [path.name for path in folder.iterdir() if path.name != "lock"] == []

    def test_refuses_tables_that_cannot_be_verified(self, remote, folder):
        def unreadable(path: str) -> str:
            raise ValueError(path)

        cache = TableCache(remote.blocks, folder, BIG, verify=unreadable)
        with pytest.raises(Corrupt, match="_lakefs"):
            cache.locate(NAMESPACE, remote.add(1))

    def test_that_fails_can_be_repeated(self, folder):
        remote = CountingStore(folder)
        table_id = remote.add(1)
        remote.faulty.before = fail_at("get", 1, Busy("the network is down"))
        with pytest.raises(Busy):
            remote.cache.locate(NAMESPACE, table_id)
        assert digest(remote.cache.locate(NAMESPACE, table_id)) == table_id

    @pytest.mark.parametrize(
        "table_id", ["", "dummy", "..", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n"]
    )
    def test_refuses_an_invalid_id(self, remote, table_id):
        with pytest.raises(Invalid):
            remote.cache.locate(NAMESPACE, table_id)


class TestCapacity:
    def held(self, folder: Path) -> set[str]:
        return {path.name for path in folder.iterdir() if len(path.name) == 64}

    def test_is_kept_by_removing_the_least_recently_used(self, folder):
        remote = CountingStore(folder, capacity=4_280)  # a batch leaves 4,013
        ids = [remote.add(number) for number in range(8)]
        for table_id in ids[:4]:
            remote.cache.locate(NAMESPACE, table_id)
            time.sleep(0.02)
        assert self.held(folder) == set(ids[:4])
        remote.cache.locate(NAMESPACE, ids[0])
        time.sleep(0.02)
        remote.cache.locate(NAMESPACE, ids[4])
        assert self.held(folder) == {ids[0], ids[2], ids[3], ids[4]}
        time.sleep(0.02)
        remote.cache.locate(NAMESPACE, remote.add(9, size=3_000))
        assert self.held(folder) >= {ids[4], table(9, 3_000)[0]}
        assert sum((folder / name).stat().st_size for name in self.held(folder)) <= 4_280

    def test_does_not_remove_recently_located_tables(self, folder):
        remote = CountingStore(folder, capacity=0, grace=60)
        ids = [remote.add(number) for number in range(5)]
        paths = [remote.cache.locate(NAMESPACE, table_id) for table_id in ids]
        assert all(Path(path).exists() for path in paths)

    def test_zero_serves_tables_too(self, folder):
        """A file that is removed immediately is downloaded again until it is held open."""
        remote = CountingStore(folder, capacity=0, grace=0.05)
        table_id = remote.add(1)
        with Path(remote.cache.locate(NAMESPACE, table_id)).open("rb") as file:
            time.sleep(0.1)
            remote.cache.locate(NAMESPACE, remote.add(2))
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

    @pytest.mark.slow
    def test_download_once(self, folder):
        with self.start(folder, 0.5) as first, self.start(folder, 0.5) as second:
            words = (first.communicate()[0] + second.communicate()[0]).splitlines()
        assert Counter(words) == {"got": 1, "part and rest": 2}

    def test_continue_when_the_downloading_one_is_killed(self, folder):
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


class TestRepair:
    def test_removes_files_that_do_not_match_their_names(self, remote, caplog):
        table_id = remote.add(1)
        path = remote.cache.locate(NAMESPACE, table_id)
        assert remote.cache.repair(path) == "sound"
        Path(path).write_bytes(b"damaged")
        assert remote.cache.repair(path) == "removed"
        assert path in caplog.text
        assert digest(remote.cache.locate(NAMESPACE, table_id)) == table_id

    def test_keeps_files_of_other_programs(self, remote, folder, tmp_path):
        remote.cache.locate(NAMESPACE, remote.add(1))
        for path in (tmp_path / ("a" * 64), folder / "lock", folder / "sub" / ("a" * 64)):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"kept")
            assert remote.cache.repair(str(path)) == "not cached"
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

    def test_tables_are_used_in_place(self, blocks, cache, root, folder):
        table_id, body = table(1)
        blocks.put(f"local://space/_lakefs/{table_id}", [body])
        for namespace in ("local://space", "local://space/", f"local://{root}/space"):
            assert cache.locate(namespace, table_id) == str(root / "space/_lakefs" / table_id)
        assert list(folder.iterdir()) == []

    def test_tables_are_written_in_place(self, blocks, cache, root):
        folder = cache.write_folder("local://space")
        assert folder == str(root / "space/_lakefs")
        table_id, body = table(1)
        (Path(folder) / table_id).write_bytes(body)
        cache.adopt("local://space", folder, [table_id])
        assert cache.locate("local://space", table_id) == f"{folder}/{table_id}"
        assert blocks.read(f"local://space/_lakefs/{table_id}") == body

    def test_tables_of_other_folders_are_copied(self, cache, blocks, tmp_path):
        table_id, body = table(1)
        (tmp_path / table_id).write_bytes(body)
        cache.adopt("local://space", str(tmp_path), [table_id])
        assert blocks.read(f"local://space/_lakefs/{table_id}") == body
        assert (tmp_path / table_id).exists()

    def test_names_a_missing_table(self, cache):
        with pytest.raises(Gone, match="local://space/_lakefs/" + "a" * 64):
            cache.locate("local://space", "a" * 64)

    @pytest.mark.parametrize("namespace", ["local://..", "local://a/../..", "mem://a", "local://"])
    def test_hostile_namespaces_are_refused(self, cache, namespace):
        with pytest.raises(Invalid):
            cache.locate(namespace, "a" * 64)
        with pytest.raises(Invalid):
            cache.write_folder(namespace)
