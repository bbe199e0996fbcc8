"""Files outside of the store: listed in order, and only in the allowed folders."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.blocks.local.external_objects import LocalExternalObjects
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy, Denied, Gone, Invalid, NotFound

STORE = "/nowhere/store"
NAMES = ["a/x", "a-b", "a.csv", "a0", "b/c/d/e", "b/c.txt", "ä/ö", "z", "日/本"]


@pytest.fixture
def import_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    return folder


@pytest.fixture
def sources(import_folder: Path) -> LocalExternalObjects:
    return LocalExternalObjects([str(import_folder)], STORE)


@pytest.fixture
def store(tmp_path: Path, import_folder: Path) -> LocalBlocks:
    return LocalBlocks(tmp_path / "blocks", external_prefixes=[str(import_folder)])


def names(sources: LocalExternalObjects, prefix: str) -> list[str]:
    return [item.name.decode() for item in sources.list(prefix)]


class TestListing:
    def test_has_every_file_sorted_by_bytes(self, sources, import_folder):
        assert names(sources, f"local://{import_folder}/") == sorted(NAMES, key=str.encode)

    def test_properties_of_each_file_are_those_of_the_system(self, sources, import_folder):
        status = (import_folder / "ä/ö").stat()
        (item,) = sources.list(f"local://{import_folder}/ä/")
        assert item.address == f"local://{import_folder}/ä/ö"
        assert (item.name, item.size, item.mtime) == ("ö".encode(), 5, status.st_mtime_ns)
        assert item == sources.find(item.address)._replace(name="ö".encode())

    def test_may_start_within_a_name(self, sources, import_folder):
        assert names(sources, f"local://{import_folder}/a-") == ["a-b"]
        assert names(sources, f"local://{import_folder}/b/c.") == ["c.txt"]

    def test_of_a_folder_without_a_slash_has_its_files(self, sources, import_folder):
        for folder in ("a", "b", "b/c", "ä"):
            named = f"local://{import_folder}/{folder}"
            assert list(sources.list(named)) == list(sources.list(f"{named}/"))
            assert sources.children(named) == sources.children(f"{named}/")
            assert sources.prefix(named) == f"{named}/"
        assert names(sources, f"local://{import_folder}") == sorted(NAMES, key=str.encode)
        sources.check(f"local://{import_folder}")

    def test_of_a_link_without_a_slash_is_empty(self, sources, import_folder):
        (import_folder / "link").symlink_to(import_folder / "b")
        assert names(sources, f"local://{import_folder}/link") == []

    def test_children_are_the_direct_entries_of_a_folder(self, sources, import_folder):
        base = f"local://{import_folder}/"
        assert sources.children(f"{base}b/") == [f"{base}b/c.txt", f"{base}b/c/"]
        assert sources.children(f"{base}a-") == [f"{base}a-b"]
        with pytest.raises(NotFound):
            sources.children(f"{base}nowhere/")

    def test_changed_file_is_detected(self, sources, import_folder):
        address = f"local://{import_folder}/z"
        before = sources.find(address)
        os.utime(import_folder / "z", ns=(1, before.mtime + 1))
        assert sources.find(address).checksum != before.checksum

    def test_missing_folder_is_reported(self, sources, import_folder):
        with pytest.raises(NotFound, match="there is no such folder"):
            names(sources, f"local://{import_folder}/nowhere/")
        with pytest.raises(NotFound, match="there is no such file"):
            sources.find(f"local://{import_folder}/nowhere")
        with pytest.raises(NotFound, match="there is no such file"):
            sources.find(f"local://{import_folder}/a")

    def test_that_is_abandoned_closes_its_folders(self, sources, import_folder):
        opened = len(list(Path("/proc/self/fd").iterdir()))
        listing = sources.list(f"local://{import_folder}/b/")
        next(listing)
        next(listing)
        listing.close()
        assert len(list(Path("/proc/self/fd").iterdir())) == opened

    def test_unreadable_folder_is_reported(self, sources, import_folder, monkeypatch):
        opened = os.open

        def refusing(path, *arguments, **options):
            if path == "b":  # nothing is closed to the superuser, as whom tests may run
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return opened(path, *arguments, **options)

        monkeypatch.setattr(os, "open", refusing)
        with pytest.raises(Busy, match="Permission denied"):
            names(sources, f"local://{import_folder}/")

    def test_ignores_entries_that_are_not_files(self, sources, import_folder):
        os.mkfifo(import_folder / "pipe")
        assert "pipe" not in names(sources, f"local://{import_folder}/")

    @given(paths=st.sets(st.text("ab-./0é", min_size=1, max_size=9), max_size=12))
    def test_listing_is_in_order_for_all_names(self, tmp_path_factory, paths):
        folder = tmp_path_factory.mktemp("names")
        there = set()
        for path in paths:
            parts = [part for part in path.split("/") if part.strip(".")]
            if parts:
                try:
                    (folder / "/".join(parts)).parent.mkdir(parents=True, exist_ok=True)
                    (folder / "/".join(parts)).write_bytes(b"")
                    there.add("/".join(parts))
                except OSError:
                    continue  # a file where a folder should be, or the other way round
        listed = names(LocalExternalObjects([str(folder)], STORE), f"local://{folder}/")
        assert listed == sorted(there, key=str.encode)


class TestLinks:
    def test_are_ignored_even_in_loops(self, sources, import_folder, tmp_path):
        (tmp_path / "secret").write_bytes(b"secret")
        (import_folder / "b/loop").symlink_to(import_folder)
        (import_folder / "b/up").symlink_to("..")
        (import_folder / "link").symlink_to(tmp_path / "secret")
        (import_folder / "away").symlink_to(tmp_path)
        (import_folder / "dangling").symlink_to("nowhere")
        assert names(sources, f"local://{import_folder}/") == sorted(NAMES, key=str.encode)

    def test_are_not_followed_by_name(self, sources, store, import_folder, tmp_path):
        (tmp_path / "hidden").mkdir()
        (tmp_path / "hidden/secret").write_bytes(b"secret")
        (import_folder / "away").symlink_to(tmp_path / "hidden")
        (import_folder / "file").symlink_to(tmp_path / "hidden/secret")
        for name in ("away/secret", "file"):
            with pytest.raises(NotFound):
                sources.find(f"local://{import_folder}/{name}")
            assert store.stat(f"local://{import_folder}/{name}") is None
        with pytest.raises(NotFound):
            names(sources, f"local://{import_folder}/away/")
        with pytest.raises(Gone):
            store.read(f"local://{import_folder}/away/secret")
        with pytest.raises((Gone, Busy)):
            store.read(f"local://{import_folder}/file")

    def test_may_be_the_prefix_itself(self, import_folder, tmp_path):
        (tmp_path / "data").symlink_to(import_folder)
        sources = LocalExternalObjects([f"{tmp_path}/data/"], STORE)
        assert len(names(sources, f"local://{tmp_path}/data/")) == len(NAMES)


class TestAllowed:
    @pytest.mark.parametrize("tail", ["/../blocks", "x/a", "/./a", "//a", "/a/../../b"])
    def test_is_restricted_to_the_prefixes(self, sources, store, import_folder, tail):
        address = f"local://{import_folder}{tail}"
        assert not sources.owns(address)
        for refuse in (sources.check, sources.find, lambda each: names(sources, each)):
            with pytest.raises(Denied, match="not in allowed external prefixes"):
                refuse(address)
        with pytest.raises(Invalid):
            store.read(address)

    @pytest.mark.parametrize("address", ["s3://bucket/a", "local://space/a", "/data/a", ""])
    def test_excludes_malformed_addresses(self, sources, address):
        with pytest.raises(Invalid, match="invalid import source"):
            sources.check(address)

    def test_is_empty_without_a_prefix(self, import_folder):
        with pytest.raises(Denied):
            LocalExternalObjects([], STORE).check(f"local://{import_folder}/a")

    @pytest.mark.parametrize("prefix", ["data", "", "/a/../b", "~/data", "/a//b"])
    def test_prefixes_are_absolute_paths(self, prefix):
        with pytest.raises(Invalid, match="not an absolute path"):
            LocalExternalObjects([prefix], STORE)

    def test_may_be_the_whole_machine(self, import_folder):
        assert names(LocalExternalObjects(["/"], STORE), f"local://{import_folder}/b/") == [
            "c.txt",
            "c/d/e",
        ]


class TestReading:
    def test_returns_the_bytes_of_imported_files(self, store, import_folder):
        address = f"local://{import_folder}/b/c/d/e"
        assert store.read(address) == b"b/c/d/e"
        assert b"".join(store.get(address, 2, 3)) == b"c/d"
        assert store.stat(address).size == 7
        assert store.read_if_cached(address, 0, 7) is None
        with pytest.raises(Gone):
            store.read(address, 0, 8)
        with pytest.raises(Gone):
            store.read(f"local://{import_folder}/nowhere")

    def test_may_be_copied_into_the_store(self, store, import_folder):
        stored = store.copy(f"local://{import_folder}/a/x", "local://space/copy")
        assert store.read("local://space/copy") == b"a/x"
        assert stored.size == 3
        upload = store.open_upload("local://space/parts")
        part = store.copy_part(
            "local://space/parts", upload, 1, f"local://{import_folder}/ä/ö", 2, 1
        )
        store.complete_upload("local://space/parts", upload, [(1, part.checksum)])
        assert store.read("local://space/parts") == b"/"

    def test_is_the_only_permitted_operation(self, store, import_folder):
        address = f"local://{import_folder}/z"
        with pytest.raises(Invalid):
            store.put(address, [b"changed"])
        with pytest.raises(Invalid):
            store.delete([address])
        with pytest.raises(Invalid):
            store.copy(f"local://{import_folder}/a/x", address)
        assert (import_folder / "z").read_bytes() == b"z"


@pytest.mark.parametrize("named", ["link", "link/store", "link/store/sea", "deep/link"])
def test_objects_of_the_store_are_not_found_by_a_link(tmp_path, named):
    """A sweep would remove objects that were staged with such an address."""
    (tmp_path / "real" / "store" / "sea").mkdir(parents=True)
    (tmp_path / "real" / "raw").write_bytes(b"raw")
    (tmp_path / "real" / "store2").write_bytes(b"other")
    (tmp_path / "deep").mkdir()
    for link in ("link", "deep/link"):
        (tmp_path / link).symlink_to(tmp_path / "real")
    prefix = str(tmp_path / named)
    store = LocalBlocks(tmp_path / "real" / "store", external_prefixes=[prefix])
    store.put("local://sea/x", [b"x"])
    link = "deep/link" if named.startswith("deep") else "link"
    address = f"local://{tmp_path}/{link}/store/sea/x"
    assert not store.sources.owns(address)
    with pytest.raises(Denied):
        store.sources.find(address)
    with pytest.raises(Denied):
        list(store.sources.list(f"local://{tmp_path}/{link}/store/"))
    if named.endswith("link"):
        names = [source.name for source in store.sources.list(f"local://{prefix}/")]
        assert names == [b"raw", b"store2"]
    elsewhere = LocalBlocks(tmp_path / "elsewhere", external_prefixes=[prefix])
    assert elsewhere.sources.owns(address)
    assert elsewhere.sources.find(address).size == 1


def test_objects_of_the_store_are_not_found_by_a_link_to_everything(tmp_path):
    (tmp_path / "all").symlink_to("/")
    store = LocalBlocks(tmp_path / "store", external_prefixes=[str(tmp_path / "all")])
    store.put("local://sea/x", [b"x"])
    (tmp_path / "raw").write_bytes(b"raw")
    assert not store.sources.owns(f"local://{tmp_path}/all{tmp_path}/store/sea/x")
    assert store.sources.find(f"local://{tmp_path}/all{tmp_path}/raw").size == 3
