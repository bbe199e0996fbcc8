"""Histories of several repositories in which a collection through a server must be told all records
of tables: what one of them leads to is in the areas of another one.
"""

from __future__ import annotations

import msgspec
import pytest
from support.garbage import DAY, put

from anabranch.catalog.garbage.staged_changes import repositories_in_order
from anabranch.catalog.garbage.table_records import TableRecords
from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.errors import NotFound
from anabranch.keyvalue.contract import Write
from anabranch.model.uri import IMAGES
from anabranch.pipelines.garbage.marking import table_marks
from anabranch.versioning.records import keys, references

from .table_engine import identifier, path_of, read
from .test_files_of_other_repositories import ORIGIN, Two


@pytest.fixture
def two(tmp_path):
    two = Two(tmp_path, "server")
    with two.lake:
        yield two


def register_elsewhere(two):
    """Stages a table of `land` whose snapshots are in `sea` and have files of `land`."""
    own = two.land.append("own", [3, 4])
    two.sea.append("trips", files=own)
    place, tables = two.land.place("main"), two.lake.iceberg.tables
    area = tables.new_area(place, identifier("again"), origin=ORIGIN)
    metadata = {**two.sea.metadata("trips"), "location": area.location}
    new = tables.new_record(area, metadata, tables.store(area, metadata), registered=True)
    two.land.drop("own")
    two.sea.drop("trips")
    tables.create(place, identifier("again"), new, Writing(committer="me", staged=True))


def expire(two, *repositories):
    two.clock.advance(10 * DAY)
    for name in repositories:
        put(two.lake, "later", repository=name)
        two.lake.commits.commit(name, "main", committer="me", message="m")
    two.clock.advance(30 * DAY)


def test_files_in_repositories_that_are_told_later_are_found(two, monkeypatch):
    """The first records are read before the server has listed the last repositories."""
    two.land.create("unrelated")
    record = two.lake.objects.open("land", "main", path_of("unrelated")).read_bytes()
    two.lake.branches.create("land", "side", "main")
    register_elsewhere(two)
    for number in range(3):
        two.lake.objects.upload("land", "side", path_of(f"b{number}"), [record])
    monkeypatch.setattr(table_marks, "_THREADS", 1)
    before = read(two.lake, "main", "land")
    expire(two)
    assert not two.collect("land").tables.kept_areas
    assert read(two.lake, "main", "land") == before


@pytest.fixture
def deleted_names(two):
    """Deleted repositories, each with two staged records, whose names begin with those of others:
    their keys are in another order than `~bay~` and `~bay1~`.
    """
    names = ["ba0", "bay", "bay-1", "bay1", "bays"]
    for name in names:
        two.lake.repositories.create(name, f"mem://{name}")
        for path in ("a", "b"):
            two.lake.objects.upload(name, "main", path_of(path), [b"{}"])
    for name in names:
        two.lake.repositories.delete(name)
    return names


@pytest.mark.parametrize("amount", [1, 2])
def test_pages_have_the_records_of_all_deleted_repositories(two, deleted_names, amount):
    records, found, after = TableRecords(two.lake.core, two.lake.blocks), [], ""
    while True:
        page = records.page(after, amount)
        found += [
            (item.repository.id, record.path)
            for item in page.items
            if item.deleted
            for record in item.records
        ]
        if not page.has_more:
            break
        after = page.next_offset
    assert sorted(found) == [(name, path_of(path)) for name in deleted_names for path in "ab"]


@pytest.mark.usefixtures("deleted_names")
def test_pages_of_staged_objects_pass_over_no_repository(two):
    """They go on after a name, so names must be in order."""
    names = [name for name, _ in repositories_in_order(two.lake.core)]
    assert len(names) == 7
    assert names == sorted(names)


def test_records_of_deleted_images_are_told_at_any_path(two):
    """As they count in images that exist."""
    two.lake.repositories.create(IMAGES, "mem://image")
    path = f"layer/{path_of('trips')}"
    two.lake.objects.upload(IMAGES, "main", path, [b"{}"])
    two.lake.commits.commit(IMAGES, "main", committer="me", message="m")
    two.lake.repositories.delete(IMAGES)
    page = TableRecords(two.lake.core, two.lake.blocks).page("", 1000)
    (found,) = (item for item in page.items if item.deleted)
    assert [record.path for record in found.records] == [path]


def test_records_are_read_where_a_restored_backup_has_them(two):
    """It has the repositories and the trees of before, in other namespaces, and the collector's
    folder may be that of before.
    """
    two.land.append("own", files=two.files)
    two.sea.drop("trips")
    expire(two, "sea")
    two.collect("sea")
    before = read(two.lake, "main", "land")
    core = two.lake.core
    for name in ("land", "sea"):
        repository = core.repositories.get(name)
        moved = msgspec.structs.replace(repository, storage_namespace=f"mem://new/{name}")
        for block in list(two.lake.blocks.list(f"mem://{name}/")):
            content = two.lake.blocks.read(block.address)
            address = f"mem://new/{block.address.removeprefix('mem://')}"
            two.lake.blocks.put(address, [content])
            two.lake.blocks.delete([block.address])
        key = keys.repository(name)
        core.keyvalue.apply([Write(keys.GRAVELER, key, references.repository_bytes(moved))])
    two.clock.advance(30 * DAY)
    assert not two.collect("sea").tables.kept_areas
    assert read(two.lake, "main", "land") == before


def test_uploads_to_areas_of_a_deleted_repository_end(two):
    """As those of objects do, whose records are in the repository's listing."""
    areas, uploads = two.lake.iceberg.areas, two.lake.core.uploads
    areas.open_upload(two.sea.find("trips").area, "data/big.parquet")
    areas.open_upload(two.land.find("own").area, "data/big.parquet")
    ended, other = sorted(uploads.all(), key=lambda upload: upload.partition, reverse=True)
    two.lake.repositories.delete("sea")
    assert uploads.read([ended.id, other.id]) == [other]
    two.clock.advance(DAY)
    assert two.lake.uploads.clean() == 1
    assert list(uploads.all()) == [other]


def test_a_repository_that_is_deleted_while_it_is_looked_for_is_found(two, monkeypatch):
    """Or else what tables have in its areas would be looked for elsewhere."""
    repositories = two.lake.core.repositories
    stored = repositories.deleted.stored

    def delete_after_it(prefix=""):
        found = [*stored(prefix)]
        monkeypatch.undo()
        two.lake.repositories.delete("sea")
        return found

    monkeypatch.setattr(repositories.deleted, "stored", delete_after_it)
    assert [each.id for each in repositories.of_name("sea")] == ["sea"]
    assert [each.id for each in repositories.of_name("sea")] == ["sea"]


def test_uploads_to_areas_are_none_of_objects(two):
    """Who may write an object of this path on a branch may not have a right to the area."""
    area = two.sea.find("trips").area
    two.lake.iceberg.areas.open_upload(area, "data/big.parquet")
    (upload,) = two.lake.core.uploads.all()
    with pytest.raises(NotFound):
        two.lake.uploads.abort("sea", upload.branch, upload.path, upload.id)
    assert list(two.lake.core.uploads.all()) == [upload]
