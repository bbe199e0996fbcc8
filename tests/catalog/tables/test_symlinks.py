"""Symlink manifests, compared with the listing of all objects."""

from __future__ import annotations

import random

import pytest

from anabranch.errors import Invalid, NotFound, ReadOnlyRepository

NESTED = ["a/1", "a/b/1", "a/b/2", "a/c/d/1", "a/z", "top", "z/1", "zz"]


@pytest.fixture
def put(lake):
    """Uploads objects to `main`."""

    def upload(*paths, content=b"1"):
        for path in paths:
            lake.objects.upload("sea", "main", path, [content])

    return upload


@pytest.fixture
def manifests(lake):
    """Returns the manifests, as a dictionary from folder to lines."""

    def read():
        place = "local://sea/symlinks/sea/main/"
        found = {}
        for block in lake.blocks.list(place):
            folder = block.address.removeprefix(place).removesuffix("symlink.txt")
            found[folder] = lake.blocks.read(block.address).decode().splitlines()
        return found

    return read


def expected(lake, prefix=""):
    """Returns what the manifests should be, from one listing of all objects."""
    folders = {}
    for item in lake.objects.listing("sea", "main", amount=100_000).items:
        folder = item.path[: item.path.rfind("/") + 1]
        folders.setdefault(folder, []).append(item)
    return {
        folder: [item.physical_address for item in items]
        for folder, items in folders.items()
        if any(item.path.startswith(prefix) for item in items)
    }


def test_each_folder_lists_its_own_objects(lake, put, manifests):
    put(*NESTED)
    location = lake.symlinks.write("sea", "main")
    assert location == "local://sea/symlinks"
    assert manifests() == expected(lake)
    assert set(manifests()) == {"", "a/", "a/b/", "a/c/d/", "z/"}
    assert len(manifests()["a/"]) == 2


def test_staged_and_committed_objects_are_listed_and_deleted_ones_are_not(lake, put, manifests):
    put("a/1", "a/2")
    lake.commits.commit("sea", "main", message="m", committer="c")
    put("a/3")
    lake.objects.delete("sea", "main", "a/1")
    lake.symlinks.write("sea", "main")
    assert manifests() == expected(lake)
    assert len(manifests()["a/"]) == 2


@pytest.mark.parametrize("prefix", ["a/", "a", "a/b", "a/b/", "z", "none", "a/z", "a/1"])
def test_a_prefix_selects_folders_whose_manifests_are_complete(lake, put, manifests, prefix):
    put(*NESTED)
    lake.symlinks.write("sea", "main", prefix)
    assert manifests() == expected(lake, prefix)


def test_a_branch_without_objects_gets_no_manifests(lake, manifests):
    assert lake.symlinks.write("sea", "main").endswith("/symlinks")
    assert manifests() == {}


def test_manifests_of_folders_that_became_empty_are_removed(lake, put, manifests):
    put(*NESTED)
    lake.symlinks.write("sea", "main")
    for path in ("a/b/1", "a/b/2", "top", "zz", "z/1"):
        lake.objects.delete("sea", "main", path)
    before = manifests()
    lake.symlinks.write("sea", "main", "a/")
    assert manifests() == {folder: before[folder] for folder in ("", "a/", "a/c/d/", "z/")}
    lake.symlinks.write("sea", "main")
    assert manifests() == expected(lake)


def test_empty_objects_that_mark_folders_are_left_out(lake, put, manifests):
    put("a/", content=b"")
    put("a/1")
    lake.symlinks.write("sea", "main")
    assert [len(lines) for lines in manifests().values()] == [1]


def test_manifests_of_more_objects_than_a_page_are_complete(lake, manifests):
    chance = random.Random(1)
    letters = "ab/"
    paths = {f"p{chance.choice(letters)}{number:04}" for number in range(2_500)}
    for path in sorted(paths):
        address = f"local://elsewhere/{path}"
        lake.staging.stage("sea", "main", path, address=address, checksum="0" * 32, size=1)
    lake.symlinks.write("sea", "main")
    assert manifests() == expected(lake)


def test_imported_objects_are_listed_by_their_full_address(lake, manifests):
    lake.staging.stage(
        "sea", "main", "a/1", address="local://elsewhere/x", checksum="0" * 32, size=1
    )
    lake.symlinks.write("sea", "main")
    assert manifests() == {"a/": [lake.blocks.qualify("local://elsewhere/x")]}


@pytest.mark.parametrize("prefix", ["", "x", "x//"])
def test_folders_that_the_store_cannot_have_are_left_out(lake, put, manifests, prefix):
    put("x//y", "a/../../b/1", "x/1", "top")
    for _ in range(2):
        assert lake.symlinks.write("sea", "main", prefix) == "local://sea/symlinks"
    assert {"": {"", "x/"}, "x": {"", "x/"}, "x//": set()}[prefix] >= set(manifests())
    assert ("x/" in manifests()) is (prefix != "x//")


def test_an_address_with_a_line_break_is_refused(lake, put):
    put("a/1")
    lake.staging.stage(
        "sea", "main", "b", address="local://elsewhere/x\ny", checksum="0" * 32, size=1
    )
    with pytest.raises(Invalid, match="line break"):
        lake.symlinks.write("sea", "main")


def test_what_cannot_be_written_is_refused(lake):
    with pytest.raises(NotFound):
        lake.symlinks.write("none", "main")
    with pytest.raises(NotFound):
        lake.symlinks.write("sea", "none")
    lake.repositories.create("calm", "local://calm", read_only=True)
    with pytest.raises(ReadOnlyRepository):
        lake.symlinks.write("calm", "main")
