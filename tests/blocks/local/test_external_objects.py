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
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    return folder


@pytest.fixture
def sources(outside: Path) -> LocalExternalObjects:
    return LocalExternalObjects([str(outside)], STORE)


@pytest.fixture
def store(tmp_path: Path, outside: Path) -> LocalBlocks:
    return LocalBlocks(tmp_path / "blocks", external_prefixes=[str(outside)])


def names(sources: LocalExternalObjects, prefix: str) -> list[str]:
    return [item.name.decode() for item in sources.list(prefix)]


class TestListing:
    def test_has_every_file_sorted_by_bytes(self, sources, outside):
        assert names(sources, f"local://{outside}/") == sorted(NAMES, key=str.encode)

    def test_properties_of_each_file_are_those_of_the_system(self, sources, outside):
        status = (outside / "ä/ö").stat()
        (item,) = sources.list(f"local://{outside}/ä/")
        assert item.address == f"local://{outside}/ä/ö"
        assert (item.name, item.size, item.mtime) == ("ö".encode(), 5, status.st_mtime_ns)
        assert item == sources.find(item.address)._replace(name="ö".encode())

    def test_may_start_within_a_name(self, sources, outside):
        assert names(sources, f"local://{outside}/a-") == ["a-b"]
        assert names(sources, f"local://{outside}/b/c.") == ["c.txt"]

    def test_of_a_folder_without_a_slash_has_its_files(self, sources, outside):
        for folder in ("a", "b", "b/c", "ä"):
            named = f"local://{outside}/{folder}"
            assert list(sources.list(named)) == list(sources.list(f"{named}/"))
            assert sources.children(named) == sources.children(f"{named}/")
            assert sources.prefix(named) == f"{named}/"
        assert names(sources, f"local://{outside}") == sorted(NAMES, key=str.encode)
        sources.check(f"local://{outside}")

    def test_of_a_link_without_a_slash_is_empty(self, sources, outside):
        (outside / "link").symlink_to(outside / "b")
        assert names(sources, f"local://{outside}/link") == []

    def test_children_are_the_direct_entries_of_a_folder(self, sources, outside):
        base = f"local://{outside}/"
        assert sources.children(f"{base}b/") == [f"{base}b/c.txt", f"{base}b/c/"]
        assert sources.children(f"{base}a-") == [f"{base}a-b"]
        with pytest.raises(NotFound):
            sources.children(f"{base}nowhere/")

    def test_changed_file_is_detected(self, sources, outside):
        address = f"local://{outside}/z"
        before = sources.find(address)
        os.utime(outside / "z", ns=(1, before.mtime + 1))
        assert sources.find(address).checksum != before.checksum

    def test_missing_folder_is_reported(self, sources, outside):
        with pytest.raises(NotFound, match="there is no such folder"):
            names(sources, f"local://{outside}/nowhere/")
        with pytest.raises(NotFound, match="there is no such file"):
            sources.find(f"local://{outside}/nowhere")
        with pytest.raises(NotFound, match="there is no such file"):
            sources.find(f"local://{outside}/a")

    def test_that_is_abandoned_closes_its_folders(self, sources, outside):
        opened = len(list(Path("/proc/self/fd").iterdir()))
        listing = sources.list(f"local://{outside}/b/")
        next(listing)
        next(listing)
        listing.close()
        assert len(list(Path("/proc/self/fd").iterdir())) == opened

    def test_unreadable_folder_is_reported(self, sources, outside, monkeypatch):
        opened = os.open

        def refusing(path, *arguments, **options):
            if path == "b":  # nothing is closed to the superuser, as whom tests may run
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return opened(path, *arguments, **options)

        monkeypatch.setattr(os, "open", refusing)
        with pytest.raises(Busy, match="Permission denied"):
            names(sources, f"local://{outside}/")

    def test_ignores_entries_that_are_not_files(self, sources, outside):
        os.mkfifo(outside / "pipe")
        assert "pipe" not in names(sources, f"local://{outside}/")

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
    def test_are_ignored_even_in_loops(self, sources, outside, tmp_path):
        (tmp_path / "secret").write_bytes(b"secret")
        (outside / "b/loop").symlink_to(outside)
        (outside / "b/up").symlink_to("..")
        (outside / "link").symlink_to(tmp_path / "secret")
        (outside / "away").symlink_to(tmp_path)
        (outside / "dangling").symlink_to("nowhere")
        assert names(sources, f"local://{outside}/") == sorted(NAMES, key=str.encode)

    def test_are_not_followed_by_name(self, sources, store, outside, tmp_path):
        (tmp_path / "hidden").mkdir()
        (tmp_path / "hidden/secret").write_bytes(b"secret")
        (outside / "away").symlink_to(tmp_path / "hidden")
        (outside / "file").symlink_to(tmp_path / "hidden/secret")
        for name in ("away/secret", "file"):
            with pytest.raises(NotFound):
                sources.find(f"local://{outside}/{name}")
            assert store.stat(f"local://{outside}/{name}") is None
        with pytest.raises(NotFound):
            names(sources, f"local://{outside}/away/")
        with pytest.raises(Gone):
            store.read(f"local://{outside}/away/secret")
        with pytest.raises((Gone, Busy)):
            store.read(f"local://{outside}/file")

    def test_may_be_the_prefix_itself(self, outside, tmp_path):
        (tmp_path / "data").symlink_to(outside)
        sources = LocalExternalObjects([f"{tmp_path}/data/"], STORE)
        assert len(names(sources, f"local://{tmp_path}/data/")) == len(NAMES)


class TestAllowed:
    @pytest.mark.parametrize("tail", ["/../blocks", "x/a", "/./a", "//a", "/a/../../b"])
    def test_is_restricted_to_the_prefixes(self, sources, store, outside, tail):
        address = f"local://{outside}{tail}"
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

    def test_is_empty_without_a_prefix(self, outside):
        with pytest.raises(Denied):
            LocalExternalObjects([], STORE).check(f"local://{outside}/a")

    @pytest.mark.parametrize("prefix", ["data", "", "/a/../b", "~/data", "/a//b"])
    def test_prefixes_are_absolute_paths(self, prefix):
        with pytest.raises(Invalid, match="not an absolute path"):
            LocalExternalObjects([prefix], STORE)

    def test_may_be_the_whole_machine(self, outside):
        assert names(LocalExternalObjects(["/"], STORE), f"local://{outside}/b/") == [
            "c.txt",
            "c/d/e",
        ]


class TestReading:
    def test_returns_the_bytes_of_imported_files(self, store, outside):
        address = f"local://{outside}/b/c/d/e"
        assert store.read(address) == b"b/c/d/e"
        assert b"".join(store.get(address, 2, 3)) == b"c/d"
        assert store.stat(address).size == 7
        assert store.read_if_cached(address, 0, 7) is None
        with pytest.raises(Gone):
            store.read(address, 0, 8)
        with pytest.raises(Gone):
            store.read(f"local://{outside}/nowhere")

    def test_may_be_copied_into_the_store(self, store, outside):
        stored = store.copy(f"local://{outside}/a/x", "local://space/copy")
        assert store.read("local://space/copy") == b"a/x"
        assert stored.size == 3
        upload = store.open_upload("local://space/parts")
        part = store.copy_part("local://space/parts", upload, 1, f"local://{outside}/ä/ö", 2, 1)
        store.complete_upload("local://space/parts", upload, [(1, part.checksum)])
        assert store.read("local://space/parts") == b"/"

    def test_is_the_only_permitted_operation(self, store, outside):
        address = f"local://{outside}/z"
        with pytest.raises(Invalid):
            store.put(address, [b"changed"])
        with pytest.raises(Invalid):
            store.delete([address])
        with pytest.raises(Invalid):
            store.copy(f"local://{outside}/a/x", address)
        assert (outside / "z").read_bytes() == b"z"


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
