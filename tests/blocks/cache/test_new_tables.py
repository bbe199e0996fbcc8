"""New tables: written through the cache, and uploaded."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.errors import Busy, Conflict
from anabranch.testing.stores import fail_at

from .conftest import NAMESPACE, CountingStore, digest, table


class TestPublish:
    def write(self, folder: str, numbers: range) -> list[str]:
        tables = [table(number) for number in numbers]
        for table_id, body in tables:
            (Path(folder) / table_id).write_bytes(body)
        return [table_id for table_id, _ in tables]

    @pytest.mark.parametrize("count", [0, 1, 20])
    def test_uploads_tables_and_caches_them(self, remote, count):
        folder = remote.cache.write_folder(NAMESPACE)
        ids = self.write(folder, range(count))
        remote.cache.adopt(NAMESPACE, folder, ids)
        for number, table_id in enumerate(ids):
            assert remote.blocks.read(f"{NAMESPACE}/_lakefs/{table_id}") == table(number)[1]
            assert digest(remote.cache.locate(NAMESPACE, table_id)) == table_id
        assert remote.calls["get"] == 0
        assert not Path(folder).exists()

    def test_uploads_each_table_once(self, remote):
        for _ in range(2):
            folder = remote.cache.write_folder(NAMESPACE)
            remote.cache.adopt(NAMESPACE, folder, self.write(folder, range(3)))
        assert remote.calls["put"] == 3

    def test_that_failed_may_be_repeated(self, remote):
        folder = remote.cache.write_folder(NAMESPACE)
        ids = self.write(folder, range(5))
        remote.faulty.before = fail_at("chunk", 3, Busy("slow down"))
        with pytest.raises(Busy):
            remote.cache.adopt(NAMESPACE, folder, ids)
        remote.cache.adopt(NAMESPACE, folder, ids)
        assert all(remote.blocks.stat(f"{NAMESPACE}/_lakefs/{table_id}") for table_id in ids)

    def test_observes_the_capacity(self, folder):
        remote = CountingStore(folder, capacity=2_500)
        scratch = remote.cache.write_folder(NAMESPACE)
        remote.cache.adopt(NAMESPACE, scratch, self.write(scratch, range(5)))
        assert len([path for path in folder.iterdir() if len(path.name) == 64]) == 2

    def test_removes_folders_of_killed_processes(self, remote):
        old, new = remote.cache.write_folder(NAMESPACE), remote.cache.write_folder(NAMESPACE)
        self.write(old, range(2))
        os.utime(old, (time.time() - 1_000, time.time() - 1_000))
        assert remote.cache.clean_temporaries(500) == 1
        assert not Path(old).exists()
        assert Path(new).exists()


class TestWrite:
    """New tables are written and made durable, independently of the cache's folder."""

    def make(self, remote: CountingStore, before: Callable[[str], None]) -> list[str]:
        def written(folder: str) -> list[str]:
            before(folder)
            return TestPublish().write(folder, range(3))

        return remote.cache.write(NAMESPACE, written, lambda ids: ids)

    def check(self, remote: CountingStore, ids: list[str]) -> None:
        for number, table_id in enumerate(ids):
            assert remote.blocks.read(f"{NAMESPACE}/_lakefs/{table_id}") == table(number)[1]

    def test_caches_uploaded_tables(self, remote, folder):
        ids = self.make(remote, lambda _: None)
        self.check(remote, ids)
        assert {path.name for path in folder.iterdir()} == {*ids, "lock", "total"}

    def test_creates_a_removed_folder_again(self, remote, folder):
        shutil.rmtree(folder)
        self.check(remote, self.make(remote, lambda _: None))
        assert (folder / table(0)[0]).exists()

    def test_starts_again_if_the_folder_is_removed(self, remote, folder):
        removals = [1, 2]
        tried = []

        def remove(given: str) -> None:
            tried.append(given)
            if removals:
                removals.pop()
                shutil.rmtree(folder)

        self.check(remote, self.make(remote, remove))
        assert len(tried) == 3

    def test_fails_if_the_folder_is_removed_repeatedly(self, remote, folder):
        with pytest.raises(FileNotFoundError):
            self.make(remote, lambda _: shutil.rmtree(folder))

    @pytest.mark.parametrize("full", [1, 2])
    def test_uses_memory_while_the_disk_is_full(self, remote, folder, full):
        tried: list[str] = []

        def refuse(given: str) -> None:
            tried.append(given)
            if len(tried) <= full:
                raise OSError(errno.ENOSPC, "full")

        self.check(remote, self.make(remote, refuse))
        assert len({Path(given).parent for given in tried}) == full + 1
        assert not any(Path(given).exists() for given in tried)
        assert [path.name for path in folder.iterdir()] == []

    def test_a_full_disk_raises_busy_without_memory(self, remote):
        def refuse(_: str) -> None:
            raise OSError(errno.ENOSPC, "full")

        with pytest.raises(OSError, match="full"):
            self.make(remote, refuse)

    def test_of_no_tables_uploads_nothing(self, remote, folder):
        def refuse(_: str) -> None:
            raise Conflict("both sides")

        with pytest.raises(Conflict):
            self.make(remote, refuse)
        assert remote.calls["put"] == 0
        assert [path.name for path in folder.iterdir()] == []
