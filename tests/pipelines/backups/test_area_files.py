"""Files of tables of the Iceberg catalog, which no entry names, are in backups with objects."""

from __future__ import annotations

import pytest
from support.verification.used_installation import open_lake, settings_of

from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.errors import AnabranchError, Corrupt
from anabranch.pipelines.backups import backup
from anabranch.pipelines.backups.area_files import AreaFile
from anabranch.pipelines.backups.backup_verification import verify_backup
from anabranch.pipelines.backups.pruning import prune
from anabranch.server.installation.backups import open_target

FILES = {"metadata/0.json": b"{}", "data/a b/%c.parquet": b"d" * 70_000, "data/é": b""}


def write_area(folder, repository="sea"):
    """Makes an area with files, and returns its id."""
    with open_lake(folder) as lake:
        areas = TableAreas(lake.core, lake.blocks)
        area = areas.create(lake.core.repositories.get(repository), "_tables/t/table.json")
        for path, content in FILES.items():
            areas.put(area, path, [content])
        return area.id


def read_area(folder, area_id, repository="sea"):
    with open_lake(folder) as lake:
        areas = TableAreas(lake.core, lake.blocks)
        area = areas.find(lake.core.repositories.get(repository), area_id)
        assert area.path == "_tables/t/table.json"
        return {path: areas.read(area, path, 1 << 20) for path in FILES}


@pytest.fixture
def area(folder):
    return write_area(folder)


@pytest.mark.sample(1)
@pytest.mark.parametrize("repository", ["", "sea"])
def test_files_of_areas_are_restored(area, back_up, restore, tmp_path, repository):
    manifest = back_up()
    assert manifest.problems == []
    restore(tmp_path / "new", repository=repository)
    assert read_area(tmp_path / "new", area) == FILES


@pytest.mark.slow
def test_later_backups_copy_only_new_files_of_areas(area, folder, back_up, restore, tmp_path):
    back_up()
    assert back_up().copied_objects == 0
    later = write_area(folder)
    assert back_up().copied_objects == len(FILES) + 1
    restore(tmp_path / "new")
    assert read_area(tmp_path / "new", later) == read_area(tmp_path / "new", area) == FILES


@pytest.mark.slow
def test_pruning_keeps_files_of_areas(area, folder, back_up, restore, place, tmp_path):
    with open_lake(folder) as lake:
        lake.repositories.create("brief", "local://brief")
    write_area(folder, "brief")
    back_up()
    with open_lake(folder) as lake:
        lake.repositories.delete("brief")
    back_up()
    with open_target(settings_of(folder), str(place)) as target:
        pruned = prune(target, 1)
        assert pruned.blocks >= len(FILES) + 1
        assert verify_backup(target, target.find(), sample=None).findings == []
    restore(tmp_path / "new")
    assert read_area(tmp_path / "new", area) == FILES


def test_files_of_areas_that_a_backup_has_lost_are_found(
    area, folder, back_up, restore, place, tmp_path
):
    back_up()
    (lost,) = place.rglob(f"tables/{area}/data/*/*.parquet")
    lost.write_bytes(b"short")
    with open_target(settings_of(folder), str(place)) as target:
        assert verify_backup(target, target.find(), sample=None).counts == {"object_missing": 1}
    with pytest.raises(Corrupt):
        restore(tmp_path / "new")
    back_up()  # which copies it again
    restore(tmp_path / "newer")
    assert read_area(tmp_path / "newer", area) == FILES


@pytest.mark.slow
def test_a_file_that_a_failed_commit_removes_meanwhile_is_no_problem(
    area, back_up, restore, monkeypatch, tmp_path
):
    def listed(blocks, repository):
        yield from files(blocks, repository)
        if repository.id == "sea":
            yield AreaFile(f"local://sea/tables/{area}/metadata/unused.json", 5)

    files = backup.area_files
    monkeypatch.setattr(backup, "area_files", listed)
    assert back_up().problems == []
    restore(tmp_path / "new")
    assert read_area(tmp_path / "new", area) == FILES


@pytest.mark.sample(1)
@pytest.mark.parametrize("is_purged", [True, False])
def test_a_repository_that_is_deleted_meanwhile_counts_unless_it_is_purged(
    folder, back_up, monkeypatch, is_purged
):
    with open_lake(folder) as lake:
        lake.repositories.create("brief", "local://brief")
    write_area(folder, "brief")
    begun = []

    def listed(blocks, repository):
        if repository.id == "brief" and not begun:
            begun.append(repository)
            with open_lake(folder) as lake:
                lake.repositories.delete("brief")
                left = lake.core.repositories.left
                if is_purged:
                    left.forget(left.find("local://brief"))
        return files(blocks, repository)

    files = backup.area_files
    monkeypatch.setattr(backup, "area_files", listed)
    assert ("brief" in back_up().repositories) != is_purged


def test_a_restored_namespace_is_in_use(back_up, restore, tmp_path):
    back_up()
    restore(tmp_path / "new")
    with open_lake(tmp_path / "new") as lake, pytest.raises(AnabranchError) as raised:
        lake.repositories.create("second", "local://sea")
    assert raised.value.kind == "storage_namespace_in_use"


def test_a_repository_is_not_restored_to_the_namespace_of_another(folder, back_up, restore):
    back_up()
    with open_lake(folder) as lake:
        lake.images.delete("one")
        lake.repositories.delete("sea", force=True)
        lake.blocks.delete(["local://sea/_lakefs/dummy"])  # as a purge does
        lake.repositories.create("second", "local://sea/")
    with pytest.raises(AnabranchError) as raised:
        restore(folder, repository="sea")
    assert raised.value.kind == "storage_namespace_in_use"
    with open_lake(folder) as lake:
        assert "sea" not in [each.id for each in lake.repositories.list(amount=10).items]
