"""Areas of tables on each store: a file is written once, in one piece or in parts."""

from __future__ import annotations

import hashlib

import pytest

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.errors import Conflict, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core

PART = b"p" * (5 << 20)


@pytest.fixture
def areas(store, tmp_path):
    tables = TableCache(store, tmp_path / "cache", 1 << 20, verify=kernel.verify_table)
    return TableAreas(Core(MemoryStore(), tables), store)


@pytest.fixture
def area(areas, at):
    namespace = at("lake").removesuffix("/")
    repository = Repository(
        id="lake",
        storage_namespace=namespace,
        default_branch="main",
        creation_date=0,
        instance_uid="x",
    )
    return areas.create(repository, "_tables/city/trips/table.json")


def content(areas, area, path):
    return b"".join(areas.get(area, path, 0, areas.stat(area, path).size))


def md5(body):
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


def test_an_area_is_found_by_its_id(areas, area, store):
    other = TableAreas(areas._core, store)  # as another server finds it
    assert other.find(area.repository, area.id) == area
    for name in ("0" * 32, "..", "uploads", f"{area.id}.json"):
        with pytest.raises(NotFound):
            other.find(area.repository, name)


def test_a_file_is_written_once(areas, area):
    assert areas.put(area, "data/a", [b"fir", b"st"]).checksum == md5(b"first")
    assert areas.put(area, "data/a", [b"first"]).checksum == md5(b"first")
    for body in (b"other", b"firs", b""):
        with pytest.raises(Conflict):
            areas.put(area, "data/a", [body])
    assert content(areas, area, "data/a") == b"first"
    with pytest.raises(NotFound):
        areas.stat(area, "data/b")
    for path in ("../x", "a//b", "a/", "", "x" * 800):
        with pytest.raises(Invalid):
            areas.put(area, path, [b"x"])


def test_parts_become_a_file_once(areas, area):
    upload = areas.open_upload(area, "data/b")
    parts = [
        (n, areas.put_part(area, "data/b", upload, n, [body]).checksum)
        for n, body in ((1, PART), (2, b"end"))
    ]
    assert [part.size for part in areas.parts(area, "data/b", upload)] == [len(PART), 3]
    with pytest.raises(NotFound):
        areas.complete_upload(area, "data/c", upload, parts)
    etag = areas.complete_upload(area, "data/b", upload, parts)
    assert etag.endswith("-2")
    assert areas.complete_upload(area, "data/b", upload, parts) == etag
    assert content(areas, area, "data/b") == PART + b"end"
    with pytest.raises(Conflict):
        areas.open_upload(area, "data/b")
    late = areas.open_upload(area, "data/late")
    part = areas.put_part(area, "data/late", late, 1, [b"one"])
    areas.put(area, "data/late", [b"two"])
    with pytest.raises(Conflict):
        areas.complete_upload(area, "data/late", late, [(1, part.checksum)])
    areas.abort_upload(area, "data/late", late)
    assert content(areas, area, "data/late") == b"two"


def test_files_are_listed_in_order(areas, area):
    names = ["data/a/1", "data/a/2", "data/b", "metadata/x y"]
    for name in reversed(names):
        areas.put(area, name, [b"x"])
    assert [file.path for file in areas.list(area, "", "")] == names
    assert [file.path for file in areas.list(area, "data/", "data/a/1")] == names[1:3]
    assert [file.size for file in areas.list(area, "metadata/", "")] == [1]


def recorded(areas):
    return [each.address for each in areas._core.uploads.all()]


def test_an_upload_is_on_record_until_it_ends(areas, area):
    first, second = (areas.open_upload(area, f"data/{name}") for name in "ab")
    assert all(each.startswith("tables/uploads/") for each in recorded(areas))
    assert len(recorded(areas)) == 2
    part = areas.put_part(area, "data/a", first, 1, [b"first"])
    areas.complete_upload(area, "data/a", first, [(1, part.checksum)])
    assert len(recorded(areas)) == 1
    areas.abort_upload(area, "data/b", second)
    assert recorded(areas) == []


def test_the_record_of_another_upload_stays(areas, area):
    first, second = (areas.open_upload(area, f"data/{name}") for name in "ab")
    token = second.partition(".")[0]
    areas.abort_upload(area, "data/b", f"{token}.{first.partition('.')[2]}")
    assert len(recorded(areas)) == 2
