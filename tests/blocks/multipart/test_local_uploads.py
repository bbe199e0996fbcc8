"""Properties of multipart uploads of the local store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anabranch.blocks.local.paths import TEMPORARY
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy, Gone, Invalid

from .test_uploads import md5, put_all


class TestLocal:
    ADDRESS = "local://space/data/a"

    @pytest.fixture(params=["local", "named_local"])
    def folder(self, request):
        return request.getfixturevalue(request.param)

    def files(self, root):
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())

    def test_another_process_continues_an_upload(self, folder, root):
        upload = folder.open_upload(self.ADDRESS)
        listed = put_all(folder, self.ADDRESS, upload, [b"x"])
        other = LocalBlocks(root)
        listed.append((2, other.put_part(self.ADDRESS, upload, 2, [b"y"]).checksum))
        LocalBlocks(root).complete_upload(self.ADDRESS, upload, listed)
        assert folder.read(self.ADDRESS) == b"xy"
        assert LocalBlocks(root).complete_upload(self.ADDRESS, upload, listed).size == 2

    def test_no_files_remain(self, folder, root):
        upload = folder.open_upload(self.ADDRESS)
        listed = put_all(folder, self.ADDRESS, upload, [b"x", b"y", b"z"])
        put_all(folder, self.ADDRESS, upload, [b"x"])
        assert len(self.files(root)) == 3
        folder.complete_upload(self.ADDRESS, upload, listed)
        folder.abort_upload(self.ADDRESS, upload)
        assert self.files(root) == ["space/data/a"]
        assert list((root / TEMPORARY / "uploads").iterdir()) == []

    def test_one_part_is_not_copied(self, folder, root):
        upload = folder.open_upload(self.ADDRESS)
        listed = put_all(folder, self.ADDRESS, upload, [b"x"])
        (part,) = (root / TEMPORARY / "uploads" / upload).iterdir()
        inode = part.stat().st_ino
        folder.complete_upload(self.ADDRESS, upload, listed)
        assert Path(folder.local_path(self.ADDRESS)).stat().st_ino == inode

    def test_the_last_part_counts_if_the_clock_stops_or_goes_back(self, root):
        now = [1_700_000_000.0]
        store = LocalBlocks(root, clock=lambda: now[0])
        upload = store.open_upload(self.ADDRESS)
        for body in (b"a", b"c", b"b", b"d", b"a"):
            put_all(store, self.ADDRESS, upload, [body])
            assert [part.checksum for part in store.parts(self.ADDRESS, upload)] == [md5(body)]
            now[0] -= 0.5

    @pytest.mark.parametrize("step", ["os.link", "os.fsync", "os.fdatasync"])
    def test_a_completion_that_fails_at_any_step_may_be_repeated(
        self, folder, root, monkeypatch, step
    ):
        upload = folder.open_upload(self.ADDRESS)
        listed = put_all(folder, self.ADDRESS, upload, [b"x", b"y"])
        real = getattr(os, step.removeprefix("os."))
        for failing in range(6):
            calls = []

            def fail(*args, failing=failing, calls=calls, **named):
                calls.append(args)
                if len(calls) == failing + 1:
                    raise OSError(5, "the disk says no")
                return real(*args, **named)

            with monkeypatch.context() as patched:
                patched.setattr(step, fail)
                try:
                    folder.complete_upload(self.ADDRESS, upload, listed)
                except Busy:
                    assert len(calls) == failing + 1
        assert folder.complete_upload(self.ADDRESS, upload, listed).size == 2
        assert folder.read(self.ADDRESS) == b"xy"
        folder.abort_upload(self.ADDRESS, upload)
        assert self.files(root) == ["space/data/a"]

    def test_a_folder_that_is_removed_is_created_again(self, folder, root):
        folder.put(self.ADDRESS, [b"x"])
        upload = folder.open_upload(self.ADDRESS + "2")
        listed = put_all(folder, self.ADDRESS + "2", upload, [b"x"])
        (root / "space/data/a").unlink()
        (root / "space/data").rmdir()
        folder.complete_upload(self.ADDRESS + "2", upload, listed)
        assert folder.read(self.ADDRESS + "2") == b"x"

    def test_descriptors_do_not_leak(self, folder):
        folder.put("local://space/source", [b"x" * 1000])
        before = set(Path("/proc/self/fd").iterdir())
        upload = folder.open_upload(self.ADDRESS)
        listed = put_all(folder, self.ADDRESS, upload, [b"x", b"y"])
        folder.copy_part(self.ADDRESS, upload, 3, "local://space/source", 1, 5)
        with pytest.raises(Gone):
            folder.copy_part(self.ADDRESS, upload, 3, "local://space/source", 999, 5)
        with pytest.raises(Invalid):
            folder.complete_upload(self.ADDRESS, upload, [*listed, (4, md5(b""))])
        folder.complete_upload(self.ADDRESS, upload, listed)
        folder.abort_upload(self.ADDRESS, upload)
        assert set(Path("/proc/self/fd").iterdir()) == before
