"""The local block store: names, links and unusual files."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from anabranch.blocks.local.paths import TEMPORARY
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import AlreadyExists, Busy, Gone, Invalid


def files(root: Path) -> list[str]:
    """Returns the paths of all files in the store."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


class TestLayout:
    def test_a_block_is_a_file_at_the_path_of_its_address(self, local, root):
        local.put("local://space/data/a", [b"x"])
        assert files(root) == ["space/data/a"]
        assert (root / "space/data/a").read_bytes() == b"x"

    def test_qualified_addresses_have_the_absolute_folder(self, local, root):
        assert local.qualify("local://space/data/a") == f"local://{root}/space/data/a"
        assert local.qualify("local://space/data/a").startswith("local:///")
        assert local.unqualify(f"local://{root}/space/data/a") == "local://space/data/a"

    def test_a_path_is_returned_for_a_missing_file_too(self, local, root):
        assert local.local_path("local://space/a") == str(root / "space/a")

    def test_a_root_may_be_a_link(self, root, tmp_path):
        LocalBlocks(root).put("local://space/a", [b"x"])
        (tmp_path / "link").symlink_to(root)
        linked = LocalBlocks(tmp_path / "link")
        assert linked.read("local://space/a") == b"x"
        assert linked.qualify("local://a") == f"local://{root}/a"

    def test_an_invalid_root_is_refused(self, tmp_path):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(Busy, match="cannot write"):
            LocalBlocks(tmp_path / "file")
        with pytest.raises(Busy, match="cannot write"):
            LocalBlocks(tmp_path / "file/below")

    def test_files_are_private_with_every_umask(self, local, root):
        before = os.umask(0)
        try:
            local.put("local://space/a", [b"x"])
        finally:
            os.umask(before)
        assert (root / "space/a").stat().st_mode & 0o777 == 0o600
        assert (root / "space").stat().st_mode & 0o777 == 0o700


class TestNames:
    def test_a_block_and_a_folder_cannot_share_a_name(self, local, root):
        local.put("local://space/a", [b"x"])
        with pytest.raises(Invalid) as clash:
            local.put("local://space/a/b", [b"y"])
        assert clash.value.kind == "name_clash"
        local.put("local://space/c/d", [b"x"])
        for address in ("local://space/c", "local://space"):
            with pytest.raises(Invalid) as clash:
                local.put(address, [b"y"])
            assert clash.value.kind == "name_clash"
        assert files(root) == ["space/a", "space/c/d"]
        assert local.stat("local://space/c") is None
        with pytest.raises(Gone):
            local.get("local://space/c")

    def test_hostile_addresses_change_no_file(self, local, root, tmp_path):
        secret = tmp_path / "secret"
        secret.write_bytes(b"secret")
        for address in (
            "local://../secret",
            "local://space/../../secret",
            f"local://{root}/../secret",
            f"local://{secret}",
        ):
            for use in (
                lambda a: local.put(a, [b"x"]),
                lambda a: local.put(a, [b"x"], if_absent=True),
                local.get,
                local.read,
                local.stat,
                lambda a: local.delete([a]),
                lambda a: list(local.list(a + "/")),
                lambda a: local.copy(a, "local://space/b"),
                lambda a: local.copy("local://space/a", a),
                local.unqualify,
                local.local_path,
                local.write_folder,
            ):
                with pytest.raises(Invalid):
                    use(address)
        assert not local.accepts("local://../secret")
        assert secret.read_bytes() == b"secret"
        assert files(root) == []

    def test_chunks_of_a_put_to_a_hostile_address_are_not_read(self, local):
        asked = []

        def chunks():
            asked.append(1)
            yield b"x"

        with pytest.raises(Invalid):
            local.put("local://space/../x", chunks())
        assert asked == []

    def test_the_stores_own_folder_has_no_addresses(self, local, root):
        (root / TEMPORARY / "left").write_bytes(b"x")
        assert list(local.list("local://")) == []
        with pytest.raises(Invalid):
            local.read(f"local://{TEMPORARY}/left")
        assert not local.accepts(f"local://{TEMPORARY}")


class TestLinks:
    @pytest.fixture(autouse=True)
    def outside(self, local, root, tmp_path):
        assert local.stat("local://folder/a") is None
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "a").write_bytes(b"secret")
        (root / "folder").symlink_to(outside)
        (root / "space").mkdir()
        (root / "space/folder").symlink_to(outside)
        (root / "space/file").symlink_to(outside / "a")
        (root / "space/nowhere").symlink_to(tmp_path / "new")
        return outside

    @pytest.mark.parametrize("folder", ["folder", "space/folder", "space/folder/deep/er"])
    def test_to_folders_are_refused(self, local, outside, folder):
        address = f"local://{folder}/a"
        for use in (
            lambda: local.put(address, [b"x"]),
            lambda: local.get(address),
            lambda: local.read(address),
            lambda: local.stat(address),
            lambda: local.delete([address]),
            lambda: local.copy(address, "local://space/b"),
            lambda: list(local.list(f"local://{folder}/")),
            lambda: local.local_path(address),
            lambda: local.write_folder(address),
        ):
            with pytest.raises(Invalid, match="symbolic link"):
                use()
        assert [path.name for path in outside.iterdir()] == ["a"]
        assert (outside / "a").read_bytes() == b"secret"

    def test_to_files_are_not_read(self, local):
        for use in (local.get, local.read):
            with pytest.raises((Gone, Invalid, Busy)):
                use("local://space/file")
        assert local.stat("local://space/file") is None

    def test_to_files_are_replaced_not_followed(self, local, outside, tmp_path):
        local.put("local://space/file", [b"x"])
        local.put("local://space/nowhere", [b"y"])
        assert (outside / "a").read_bytes() == b"secret"
        assert not (tmp_path / "new").exists()
        assert local.read("local://space/file") == b"x"

    def test_to_files_are_not_free_addresses(self, local, tmp_path):
        with pytest.raises(AlreadyExists):
            local.put("local://space/nowhere", [b"x"], if_absent=True)
        assert not (tmp_path / "new").exists()

    def test_are_not_listed(self, local):
        assert list(local.list("local://")) == []

    def test_that_replace_a_parent_folder_are_detected(self, local, root, tmp_path):
        """A new store checks again; nothing is created in the link's target."""
        (tmp_path / "elsewhere").mkdir()
        (root / "new").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(Invalid):
            local.put("local://new/deep/a", [b"x"])
        assert list((tmp_path / "elsewhere").iterdir()) == []


class TestOddFiles:
    def test_pipes_and_names_that_are_not_utf8_are_ignored(self, local, root):
        local.put("local://space/a", [b"x"])
        os.mkfifo(root / "space/pipe")
        (Path(os.fsdecode(os.fsencode(root) + b"/space/\xff"))).write_bytes(b"x")
        assert [info.address for info in local.list("local://")] == ["local://space/a"]
        with pytest.raises(Gone):
            local.get("local://space/pipe")
        assert local.stat("local://space/pipe") is None

    def test_a_folder_removed_during_a_put_is_created_again(self, local, root):
        local.put("local://space/deep/a", [b"x"])
        (root / "space/deep/a").unlink()
        (root / "space/deep").rmdir()
        (root / "space").rmdir()
        assert local.stat("local://space/deep/a") is None
        local.put("local://space/deep/a", [b"y"])
        assert local.read("local://space/deep/a") == b"y"
        (root / "space/deep/a").unlink()
        (root / "space/deep").rmdir()
        assert Path(local.write_folder("local://space/deep")).is_dir()

    def test_a_file_truncated_during_a_read_raises_gone(self, local, root):
        local.put("local://space/a", [b"x" * 3_000_000])
        pieces = local.get("local://space/a")
        next(pieces)
        os.truncate(root / "space/a", 1_500_000)
        with pytest.raises(Gone):
            list(pieces)

    def test_descriptors_do_not_leak(self, local):
        local.put("local://space/a", [b"x" * 3_000_000])
        before = set(Path("/proc/self/fd").iterdir())
        list(local.get("local://space/a"))
        next(local.get("local://space/a"))
        local.get("local://space/a")
        local.get("local://space/a").close()
        local.read("local://space/a", 5, 10)
        local.copy("local://space/a", "local://space/b")
        list(local.list("local://"))
        for wrong in (
            lambda: local.read("local://space/a", 4_000_000),
            lambda: local.get("local://space"),
        ):
            with pytest.raises(Gone):
                wrong()
        with pytest.raises(AlreadyExists):
            local.put("local://space/a", [b""], if_absent=True)
        with pytest.raises(TypeError):
            local.put("local://space/c", ["text"])
        assert set(Path("/proc/self/fd").iterdir()) == before


def test_listing_is_correct_during_puts_and_deletes(local):
    stays = [f"local://space/{number % 9}/{number:04}" for number in range(0, 600, 2)]
    for address in stays:
        local.put(address, [b"x"])
    done = threading.Event()

    def churn() -> None:
        number = 1
        while not done.is_set():
            address = f"local://space/{number % 9}/{number % 600:04}"
            local.put(address, [b"y"])
            local.delete([address])
            number += 2

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        for _ in range(10):
            listed = [info.address for info in local.list("local://space/")]
            assert listed == sorted(set(listed))
            assert set(stays) <= set(listed)
    finally:
        done.set()
        churning.join()


def test_read_if_cached_reads_only_files(root):
    store = LocalBlocks(root)
    store.put("local://space/a", [b"abc"])
    (root / "space/folder").mkdir()
    os.mkfifo(root / "space/pipe")
    (root / "space/link").symlink_to(root / "space/a")
    for name in ("folder", "pipe", "link"):
        assert store.read_if_cached(f"local://space/{name}", 0, 3) is None
    expected = b"abc" if supports_read_if_cached(root / "space/a") else None
    assert store.read_if_cached("local://space/a", 0, 3) == expected


def supports_read_if_cached(path):
    """Returns whether the file system supports reads from the page cache only; tmpfs may not."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.preadv(descriptor, [bytearray(1)], 0, os.RWF_NOWAIT) == 1
    except OSError:
        return False
    finally:
        os.close(descriptor)


def test_a_block_that_is_not_in_the_page_cache_is_not_read(root):
    """The test asks the system to evict the file, which it may ignore and tmpfs cannot do."""
    store = LocalBlocks(root)
    content = b"x" * 100_000
    store.put("local://space/a", [content])
    descriptor = os.open(root / "space/a", os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    assert store.read_if_cached("local://space/a", 0, 100_000) in {None, content}
    assert store.read("local://space/a") == content
    assert store.read_if_cached("local://space/a", 0, 100_000) in {None, content}
