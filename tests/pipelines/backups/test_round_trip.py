"""What is restored is what was backed up: references, tables, objects."""

from __future__ import annotations

import stat
from contextlib import closing

import msgspec
import pytest
from support.verification.used_installation import commit, open_lake, verification_of

from anabranch.errors import AlreadyExists, Invalid, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.snapshot import SQLiteSnapshot
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.pipelines.backups import restore as module
from anabranch.pipelines.backups.restore import _LEFT_OUT, _LEFT_OUT_PREFIXES
from anabranch.pipelines.verification.inspected import is_staging_area
from anabranch.server.stores import keyvalue_stores
from anabranch.versioning.records import keys, references
from anabranch.versioning.repositories.deleted import DELETED_REPOSITORIES


def rows(folder):
    """Returns the rows of an installation that backups restore."""
    found = {}
    with closing(SQLiteSnapshot(folder / "metadata" / "metadata.db")) as snapshot:
        deleted = tuple(
            "-".join(key.decode().split("/")) for key, _ in snapshot.scan(DELETED_REPOSITORIES)
        )
        for each in snapshot.partitions():
            partition = each.partition.decode()
            if partition in _LEFT_OUT or partition.startswith(_LEFT_OUT_PREFIXES):
                continue
            if partition.endswith(deleted):
                continue
            for key, value in snapshot.scan(partition):
                if not key.startswith(keys.all_uploads()[0]):
                    found[partition, key] = value
    return found


def contents(folder, repository, reference):
    """Returns the contents of all objects of a reference."""
    with open_lake(folder) as lake:
        return {
            item.path: lake.objects.open(repository, reference, item.path).read_bytes()
            for page in lake.objects.pages(repository, reference)
            for item in page.items
        }


REFERENCES = [("sea", "main"), ("sea", "v1"), ("sea", "again"), ("lake", "main"), ("old", "main")]


def test_a_restored_installation_is_the_one_that_was_backed_up(folder, back_up, restore, tmp_path):
    manifest = back_up()
    assert manifest.problems == []
    new = tmp_path / "new"
    restored = restore(new)
    assert rows(new) == rows(folder)
    assert restored.repositories == manifest.repositories
    for reference in REFERENCES:
        assert contents(new, *reference) == contents(folder, *reference)
    assert verification_of(new, sample=None).findings == []


def test_a_restored_installation_can_be_used(back_up, restore, tmp_path):
    back_up()
    restore(tmp_path / "new")
    with open_lake(tmp_path / "new") as lake:
        commit(lake, "main", later=b"after the restore")
        lake.operations.restore_branch("sea", "lost")
        assert lake.objects.open("sea", "lost", "only_here").read_bytes()
        assert lake.objects.open("sea", "lost", "staged").read_bytes()
        assert lake.garbage_rules.get("old").default_days == 1


def test_later_backups_copy_what_is_new(folder, back_up):
    first = back_up()
    assert (first.copied_tables, first.copied_objects) == (27, 92)
    again = back_up()
    assert (again.copied_tables, again.copied_objects) == (0, 0)
    with open_lake(folder) as lake:
        commit(lake, "main", another=b"one")
    later = back_up()
    assert later.copied_objects == 1
    assert 0 < later.copied_tables < 6


@pytest.mark.slow
def test_each_kept_moment_can_be_restored(folder, back_up, restore, tmp_path):
    manifests = []
    for number in range(3):
        with open_lake(folder) as lake:
            lake.objects.upload("sea", "main", "counter", [b"%d" % number])
            lake.commits.commit("sea", "main", message="m")
        manifests.append(back_up())
    for number, manifest in enumerate(manifests):
        new = tmp_path / f"new-{number}"
        restore(new, before=manifest.created_at)
        assert contents(new, "sea", "main")["counter"] == b"%d" % number
    by_id = tmp_path / "by-id"
    restore(by_id, backup=manifests[1].id)
    assert contents(by_id, "sea", "main")["counter"] == b"1"
    with pytest.raises(NotFound) as raised:
        restore(tmp_path / "none", before=manifests[0].created_at - 1)
    assert raised.value.kind == "backup_not_found"


def test_a_restore_never_overwrites(folder, back_up, restore, tmp_path):
    back_up()
    before = rows(folder)
    for attempt in (folder, tmp_path / "new"):
        if attempt != folder:
            restore(attempt)
        with pytest.raises(AlreadyExists) as raised:
            restore(attempt)
        assert raised.value.kind == "installation_not_empty"
    assert rows(folder) == before


def test_an_installation_without_key_files_is_not_overwritten(back_up, restore, tmp_path):
    back_up()
    restore(tmp_path / "new")
    for path in (tmp_path / "new" / "keys").iterdir():
        path.unlink()
    with pytest.raises(AlreadyExists):
        restore(tmp_path / "new")


def test_a_single_repository_is_restored_alone(folder, back_up, restore, tmp_path):
    back_up()
    new = tmp_path / "new"
    restored = restore(new, repository="sea")
    assert restored.repositories == ["sea"]
    assert contents(new, "sea", "main") == contents(folder, "sea", "main")
    assert verification_of(new, sample=None).findings == []
    with open_lake(new) as lake:
        assert [each.id for each in lake.repositories.list(amount=10).items] == ["sea"]


def test_a_verification_during_a_restore_finds_nothing_that_it_would_remove(
    back_up, restore, tmp_path, monkeypatch
):
    """A repair would put staging areas on the list of what servers remove."""
    back_up()
    new = tmp_path / "new"
    with open_lake(new) as lake:
        lake.repositories.create("other", "local://other")
    counts = []

    class Watched(SQLiteStore):
        def apply(self, writes, expect=()):
            if not restored and any(is_staging_area(each.partition) for each in writes):
                counts.append(verification_of(new).counts)
            return super().apply(writes, expect)

    restored = []
    monkeypatch.setattr(keyvalue_stores, "SQLiteStore", Watched)
    monkeypatch.setattr(module, "_BATCH", 5)
    restore(new, repository="sea")
    restored.append(True)
    assert counts
    assert all(each == {} for each in counts)


def test_a_deleted_repository_comes_back_beside_others(folder, back_up, restore):
    before = contents(folder, "sea", "main")
    back_up()
    with open_lake(folder) as lake:
        lake.images.delete("one")
        lake.repositories.delete("sea", force=True)
        lake.objects.upload("lake", "main", "meanwhile", [b"kept"])
    restore(folder, repository="sea")
    assert contents(folder, "sea", "main") == before
    assert contents(folder, "lake", "main")["meanwhile"] == b"kept"
    assert verification_of(folder, sample=None).findings == []
    with pytest.raises(AlreadyExists) as raised:
        restore(folder, repository="sea")
    assert raised.value.kind == "repository_already_exists"


def test_a_repository_that_the_backup_does_not_have_is_not_found(back_up, restore, tmp_path):
    back_up()
    with pytest.raises(NotFound):
        restore(tmp_path / "new", repository="none")


def test_a_backup_without_objects_has_references_and_tables(folder, back_up, restore, tmp_path):
    assert back_up(objects=False).copied_objects == 0
    with pytest.raises(Invalid):
        restore(tmp_path / "refused", objects=True)
    new = tmp_path / "new"
    restore(new, objects=False)
    assert rows(new) == rows(folder)
    counts = verification_of(new).counts
    assert counts.keys() == {"object_missing"}


def test_only_its_user_can_read_a_backup(back_up, restore, place, tmp_path):
    back_up()
    restore(tmp_path / "new")
    keys_of_new = list((tmp_path / "new" / "keys").iterdir())
    assert keys_of_new
    for path in (*place.rglob("*"), *keys_of_new):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.slow
def test_a_repository_that_is_being_deleted_is_left_out(folder, back_up, restore, tmp_path):
    with open_lake(folder) as lake:
        lake.repositories.create("brief", "local://brief")
        lake.objects.upload("brief", "main", "staged", [b"x"])
        repository = lake.core.repositories.get("brief")
        deleted = msgspec.structs.replace(repository, in_deletion=True)
        raw = references.repository_bytes(deleted)
        lake.keyvalue.apply([Write(keys.GRAVELER, keys.repository("brief"), raw)])
    assert verification_of(folder).findings == []
    back_up()
    restored = restore(tmp_path / "new")
    assert "brief" not in restored.repositories
    assert not any("brief" in partition for partition, _ in rows(tmp_path / "new"))
    assert verification_of(tmp_path / "new", sample=None).findings == []


def test_deleted_repositories_are_in_no_backup(folder, back_up, restore, tmp_path):
    with open_lake(folder) as lake:
        lake.repositories.create("gone", "local://gone")
        lake.objects.upload("gone", "main", "staged", [b"s"])
        partition = lake.repositories.get("gone").partition
        lake.repositories.delete("gone")
        assert "gone" in [each.repository.id for each in lake.repositories.deleted()]
    assert back_up().problems == []
    new = tmp_path / "new"
    restore(new)
    with open_lake(new) as lake:
        assert lake.repositories.deleted() == []
        assert list(lake.core.keyvalue.scan(partition)) == []
    assert verification_of(new, sample=None).findings == []


def test_a_repository_that_was_deleted_is_restored_from_a_backup_and_stays(
    folder, back_up, restore
):
    back_up()
    expected = contents(folder, "sea", "main")
    with open_lake(folder) as lake:
        lake.repositories.delete("sea", force=True)
    restore(folder, repository="sea")
    with open_lake(folder) as lake:
        assert "sea" not in [each.repository.id for each in lake.repositories.deleted()]
        lake.repositories.forget_old()
    assert contents(folder, "sea", "main") == expected
