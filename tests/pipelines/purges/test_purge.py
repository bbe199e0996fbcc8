"""Purges remove a deleted repository's data, and nothing that anything else refers to."""

import pytest
from msgspec.structs import replace
from support.garbage import stored

from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Busy, Conflict, Denied, Gone, Invalid, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.commits.commit import Commit
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.purges.purge import purge_namespace
from anabranch.testing.lake import lake_in
from anabranch.testing.stores import FaultyBlocks
from anabranch.versioning.records import keys
from anabranch.versioning.records.left_namespaces import CLAIM_SECONDS
from anabranch.versioning.records.references import commit_bytes

HOUR = 3600.0


def fill(lake, name="sea"):
    for path in ("a", "b/c"):
        lake.objects.upload(name, "main", path, [path.encode()])
    lake.commits.commit(name, "main", message="m", committer="ada")
    lake.objects.upload(name, "main", "staged", [b"staged"])


def test_purge_removes_everything_and_the_namespace_can_be_used_again(lake, purge):
    fill(lake)
    result = purge()
    assert (result.objects, result.bytes, result.kept) == (3, 10, 0)
    assert result.tables > 0
    assert stored(lake, "mem://sea") == set()
    assert lake.purges.left() == []
    with pytest.raises(NotFound):
        lake.repositories.get("sea")
    lake.repositories.create("sea", "mem://sea")
    fill(lake)
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"a"


def test_deleted_repository_is_listed_until_it_is_purged(lake, purge):
    fill(lake)
    assert lake.purges.left() == []
    lake.repositories.delete("sea")
    (left,) = lake.purges.left()
    assert (left.repository, left.storage_namespace) == ("sea", "mem://sea")
    assert purge().objects == 3
    assert lake.purges.left() == []


def test_namespace_that_has_a_repository_again_is_neither_listed_nor_purged(lake, purge):
    fill(lake)
    lake.repositories.delete("sea")
    lake.repositories.create("again", "mem://sea/", bare=True)
    assert lake.purges.left() == []
    before = stored(lake, "mem://sea")
    with pytest.raises(Conflict) as refused:
        purge()
    assert refused.value.kind == "namespace_in_use"
    with pytest.raises(NotFound):
        lake.purges.purge("mem://sea")
    assert stored(lake, "mem://sea") == before


def test_other_files_and_repositories_inside_stay(lake, purge):
    lake.repositories.create("inner", "mem://sea/inner")
    lake.repositories.create("sister", "mem://sea-2")
    for name in ("sea", "inner", "sister"):
        fill(lake, name)
    lake.blocks.put("mem://sea/report.csv", [b"x"])
    lake.blocks.put("mem://sea/data/report.csv", [b"x"])
    lake.blocks.put("mem://sea/data/x/data/0000000000000000000v/0000000000000000000v", [b"x"])
    before = {name: stored(lake, f"mem://{name}") for name in ("sea/inner", "sea-2")}
    result = purge()
    assert (result.objects, result.kept) == (3, 2)
    for name, objects in before.items():
        assert stored(lake, f"mem://{name}") == objects
    assert stored(lake, "mem://sea") - {f"inner/{name}" for name in before["sea/inner"]} == {
        "report.csv",
        "data/report.csv",
        "data/x/data/0000000000000000000v/0000000000000000000v",
    }


AREA = "0123456789abcdef" * 2


def add_table(lake):
    """Stores files of a table of the Iceberg catalog."""
    names = (f"{AREA}.json", f"{AREA}/metadata/0.json", f"{AREA}/data/a/b.parquet", "uploads/x")
    for name in names:
        lake.blocks.put(f"mem://sea/tables/{name}", [b"12"])


def test_files_of_tables_are_removed(lake, purge):
    fill(lake)
    add_table(lake)
    lake.blocks.put("mem://sea/tables/report.csv", [b"x"])
    result = purge()
    assert (result.objects, result.bytes, result.kept) == (7, 18, 1)
    assert stored(lake, "mem://sea") == {"tables/report.csv"}


@pytest.mark.parametrize(
    "inside", ["data", "data/x", "_lakefs", "_lakefs/x", "DATA/y", "tables", "tables/x"]
)
def test_namespace_with_another_one_among_its_data_is_refused(lake, purge, inside):
    fill(lake)
    lake.repositories.create("inner", f"mem://sea/{inside}")
    fill(lake, "inner")
    before = stored(lake, "mem://sea")
    with pytest.raises(Conflict) as refused:
        purge()
    assert refused.value.kind == "namespace_in_use"
    assert stored(lake, "mem://sea") == before
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"a"


def shallow(lake):
    lake.transfers.copy("other", "main", "", "", source_repository="sea", shallow=True)


def shallow_object(lake):
    lake.transfers.copy("other", "main", "a", "a", source_repository="sea", shallow=True)


def shallow_committed(lake):
    shallow_object(lake)
    lake.commits.commit("other", "main", message="m", committer="ada")


def only_in_history(lake):
    shallow_committed(lake)
    lake.objects.delete("other", "main", "a")
    lake.commits.commit("other", "main", message="m", committer="ada")


def on_a_deleted_branch(lake):
    lake.branches.create("other", "side", "main")
    lake.transfers.copy(
        *("other", "side", "a", "a"), source_repository="sea", source_reference="main", shallow=True
    )
    lake.commits.commit("other", "side", message="m", committer="ada")
    lake.branches.delete("other", "side")


def staged_by_address(lake):
    stat = lake.objects.stat("sea", "main", "b/c")
    lake.staging.stage(
        "other", "main", "x", address=stat.physical_address, checksum="0" * 32, size=3
    )


def staged_table(lake):
    """As entries of earlier versions may be."""
    table = max(name for name in stored(lake, "mem://sea") if name.startswith("_lakefs/"))
    stored_repository = lake.core.repositories.get("other")
    entry = lake.core.objects.get(lake.core.repositories.get("sea"), "main", "a")
    lake.core.changes.put(
        stored_repository, "main", "x", replace(entry, address=f"mem://sea/{table}", address_type=2)
    )


def file_of_a_table(lake):
    """As an import of its address makes it."""
    add_table(lake)
    lake.staging.stage(
        *("other", "main", "x"),
        address=f"mem://sea/tables/{AREA}/data/a/b.parquet",
        checksum="0" * 32,
        size=2,
    )


def restored_from_quarantine(lake):
    address = lake.objects.stat("sea", "main", "a").physical_address
    lake.core.restored.keep("owner", [address], 7 * 24 * HOUR)


def pinned_by_a_job(lake):
    head = lake.core.branches.read(lake.core.repositories.get("sea"), "main").branch.commit_id
    lake.pins.put("sea", "ada", "a-job-that-reads-it", [head], 600)


REFERENCES = (
    *(shallow, shallow_object, shallow_committed, only_in_history, on_a_deleted_branch),
    *(staged_by_address, staged_table, file_of_a_table, restored_from_quarantine, pinned_by_a_job),
)


@pytest.mark.sample(6)
@pytest.mark.parametrize("deleted", [False, True], ids=["together", "deleted before"])
@pytest.mark.parametrize("refer", REFERENCES)
def test_referenced_data_are_not_purged(lake, purge, refer, deleted):
    fill(lake)
    lake.repositories.create("other", "mem://other")
    refer(lake)
    if deleted:
        lake.repositories.delete("sea", force=True)
    before = stored(lake, "mem://sea")
    with pytest.raises(Conflict) as refused:
        purge()
    assert refused.value.kind == "namespace_in_use"
    assert stored(lake, "mem://sea") == before
    if deleted:
        assert [left.repository for left in lake.purges.left()] == ["sea"]
    else:
        assert lake.objects.open("sea", "main", "a").read_bytes() == b"a", "it was not deleted"
    assert lake.core.sweeps.running()[0] == []


def test_message_names_the_reference(lake, purge):
    fill(lake)
    lake.repositories.create("other", "mem://other")
    shallow_committed(lake)
    head = lake.core.branches.read(lake.core.repositories.get("other"), "main").branch.commit_id
    with pytest.raises(Conflict, match=f"lakefs://other .*: a, in commit {head}"):
        purge()


def test_repository_that_cannot_be_read_refuses_the_purge(lake, purge):
    """What it refers to is not known."""
    fill(lake)
    lake.repositories.create("other", "mem://other")
    other = lake.core.repositories.get("other")
    lost = Commit(
        id="c" * 64,
        committer="ada",
        message="m",
        creation_date=0,
        nanos=0,
        metarange_id="f" * 64,
    )
    record = Write(other.partition, keys.commit(lost.id), commit_bytes(lost))
    lake.core.keyvalue.apply([record])
    before = stored(lake, "mem://sea")
    with pytest.raises(Gone):
        purge()
    assert stored(lake, "mem://sea") == before
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"a"


def test_recreated_repository_of_the_same_name_is_not_deleted(lake, purge):
    fill(lake)
    lake.repositories.create("other", "mem://other")
    fill(lake, "other")
    done = []

    def meanwhile(_):
        if not done:
            done.append(True)
            lake.repositories.delete("sea")
            lake.repositories.create("sea", "mem://elsewhere")
            fill(lake)

    with pytest.raises(NotFound):
        purge(advance=meanwhile)
    assert done
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"a"


def test_quarantined_objects_are_purged(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        fill(lake)
        address = lake.objects.stat("sea", "main", "staged").entry.address
        lake.objects.delete("sea", "main", "staged")
        clock.advance(3 * 24 * HOUR)
        collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=clock)
        at_once = {"grace_seconds": -HOUR, "window_seconds": -HOUR}
        with collector.mark("sea", quarantine_seconds=24 * HOUR, **at_once) as run:
            run.sweep()
        folder = tmp_path / "blocks" / "sea"
        assert [path for path in folder.rglob("*") if str(path).endswith(address)]
        lake.repositories.delete("sea")
        (left,) = lake.purges.left()
        purge_namespace(
            *(lake.core, lake.blocks, left, lambda: left), advance=lambda _: None, clock=clock
        )
        assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_parts_of_uploads_are_removed(lake, purge):
    fill(lake)
    upload = lake.uploads.create("sea", "main", "parts")
    lake.uploads.put_part("sea", "main", "parts", upload.id, 1, [b"part"])
    purge()
    with pytest.raises(NotFound):
        lake.blocks.parts(upload.block, upload.id)


def test_stopped_purge_is_continued(lake, purge):
    for number in range(2_500):
        lake.objects.upload("sea", "main", f"{number:04}", [b"x"])
    removed = []

    def stop(amount):
        removed.append(amount)
        if sum(removed):
            raise Busy("the server stops", kind="task_stopped")

    with pytest.raises(Busy):
        purge(advance=stop)
    assert 0 < sum(removed) < 2_500
    assert [left.repository for left in lake.purges.left()] == ["sea"]
    with pytest.raises(Invalid):
        lake.repositories.create("again", "mem://sea")
    assert purge().objects == 2_500 - sum(removed)
    lake.repositories.create("again", "mem://sea")


@pytest.mark.parametrize(
    "namespace", ["mem://sea", "mem://sea/", "mem://sea/x", "mem://SEA", "mem://s"]
)
def test_no_repository_is_created_where_a_purge_runs(lake, purge, namespace):
    fill(lake)
    if namespace == "mem://s":  # contains it
        lake.repositories.delete("sea")
        lake.repositories.create("sea", "mem://s/ea")
        fill(lake)
    refused = []

    def create(_):
        if not refused:
            with pytest.raises((Conflict, Invalid)) as error:
                lake.repositories.create("again", namespace, bare=True)
            refused.append(error.value.kind)

    purge(advance=create)
    assert refused == ["purge_under_way"]
    lake.repositories.create("again", namespace, bare=True)


def test_claim_of_a_purge_that_was_killed_expires(lake, clock):
    records = lake.core.repositories.left
    records.claim("mem://new", "killed")
    with pytest.raises(Conflict):
        lake.repositories.create("new", "mem://new")
    clock.advance(CLAIM_SECONDS + HOUR - 1)
    with pytest.raises(Conflict):
        lake.repositories.create("new", "mem://new")
    clock.advance(1)
    lake.repositories.create("new", "mem://new")
    records.claim("mem://other", "another")
    with pytest.raises(Gone):
        records.renew("mem://new", "killed")


def test_failed_removal_keeps_the_claim(tmp_path, clock):
    """The store may still perform it."""
    failing = []

    def before(operation, _):
        if operation == "delete" and failing:
            raise Denied("not allowed", kind="refused")

    inner = MemoryBlocks(clock=clock)
    with Lake(
        MemoryStore(),
        FaultyBlocks(inner, before),
        cache_folder=tmp_path / "cache",
        signing_secret=b"a secret of tests",
        clock=clock,
    ) as lake:
        lake.repositories.create("sea", "mem://sea")
        fill(lake)
        lake.repositories.delete("sea")
        (left,) = lake.purges.left()
        failing.append(True)
        arguments = (lake.core, lake.blocks, left, lambda: left)
        with pytest.raises(Denied):
            purge_namespace(*arguments, advance=lambda _: None, clock=clock)
        failing.clear()
        with pytest.raises(Conflict):
            lake.repositories.create("again", "mem://sea", bare=True)
        assert purge_namespace(*arguments, advance=lambda _: None, clock=clock).objects == 3
        with pytest.raises(Conflict):
            lake.repositories.create("again", "mem://sea", bare=True)
        clock.advance(CLAIM_SECONDS + HOUR)
        lake.repositories.create("again", "mem://sea")
