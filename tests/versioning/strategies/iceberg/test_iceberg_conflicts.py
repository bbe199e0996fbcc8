"""Changes of Iceberg tables that conflict, and tables that are refused."""

import gzip
import json
import shutil

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from support.formats.iceberg_tables import IcebergBranches, rows_table
from support.merged_trees import read_tree

from anabranch.errors import Conflict, Invalid
from anabranch.tables.iceberg.avro_files import read_avro, write_avro
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.iceberg.strategy import iceberg_strategy


@pytest.fixture
def branches(tmp_path):
    return IcebergBranches(tmp_path)


def append(rows):
    return lambda table: table.append(rows_table(rows))


def delete(predicate):
    return lambda table: table.delete(predicate)


def current(folder):
    """Returns the path of the current metadata file of a Hadoop table."""
    version = (folder / "metadata" / "version-hint.text").read_text()
    return folder / "metadata" / f"v{version}.metadata.json"


def edit(folder, **changed):
    """Changes members of the current metadata file."""
    metadata = json.loads(current(folder).read_bytes())
    current(folder).write_text(json.dumps(metadata | changed))


def test_rows_of_a_file_that_both_sides_deleted(branches):
    branches.change_source(delete("id = 1"))
    branches.change_destination(delete("id = 2"))
    merged, run = branches.merge()
    assert not merged.exists()
    file, partition = run.conflicts
    assert "data/day=mon/" in file.key["file"]
    assert file.message == "both sides removed or replaced rows of the file"
    assert partition.key == {"spec": 0, "partition": {"day": "mon"}}


def test_rows_that_both_sides_changed_in_a_table_without_partitions(tmp_path):
    branches = IcebergBranches(tmp_path, spec=UNPARTITIONED_PARTITION_SPEC)
    branches.change_base(append({5: "mon"}))
    branches.change_source(delete("id = 5"))
    branches.change_destination(delete("id = 1"))
    _, run = branches.merge()
    (conflict,) = run.conflicts
    assert conflict.key == {"spec": 0, "partition": {}}
    branches.destination = branches.change(branches.base, append({6: "mon"}))
    merged, run = branches.merge(isolation="snapshot")
    assert branches.rows(merged) == {1: "mon", 2: "mon", 3: "tue", 4: "wed", 6: "mon"}


def isolate(**levels):
    """Returns a change of the isolation levels of operations."""
    names = {f"write.{operation}.isolation-level": level for operation, level in levels.items()}
    return lambda table: table.transaction().set_properties(**names).commit_transaction()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "change",
    [
        delete("day = 'mon'"),
        delete("id = 1"),
        lambda table: table.overwrite(rows_table({5: "mon"}), "day = 'mon'"),
    ],
)
def test_rows_that_the_destination_appended_where_the_source_changed_some(branches, change):
    branches.change_source(change)
    branches.change_destination(append({6: "mon", 7: "wed"}))
    merged, run = branches.merge()
    assert not merged.exists()
    (conflict,) = run.conflicts
    assert conflict.key == {"spec": 0, "partition": {"day": "mon"}}
    assert "the destination added rows" in conflict.message
    # the rows of the source follow those of the destination, so an append of the source may stay
    _, run = branches.merge(branches.base, branches.destination, branches.source)
    assert run.conflicts == []
    _, run = branches.merge(isolation="snapshot")
    assert run.conflicts == []


@pytest.mark.parametrize("operations", ["delete", "delete update", "delete update merge"])
def test_isolation_level_of_the_table(branches, operations):
    branches.change_base(isolate(**dict.fromkeys(operations.split(), "snapshot")))
    branches.change_source(delete("id = 1"))
    branches.change_destination(append({6: "mon"}))
    merged, run = branches.merge()
    if operations != "delete update merge":  # the metadata do not say which operation it was
        assert len(run.conflicts) == 1
        return
    assert run.conflicts == []
    assert branches.rows(merged) == {2: "mon", 3: "tue", 4: "wed", 6: "mon"}
    assert branches.merge(isolation="serializable")[1].conflicts


def test_tags_of_the_source(branches):
    def tag(table):
        table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "v1").commit()

    branches.change_source(tag)
    branches.change_destination(append({5: "mon"}))
    assert [conflict.key for conflict in branches.merge()[1].conflicts] == [{"metadata": "refs"}]
    merged, run = branches.merge(branches.base, branches.destination, branches.source)
    assert run.conflicts == []
    assert branches.open(merged).refs().keys() == {"main", "v1"}


def test_rollback_of_the_source_and_changes_of_the_destination(branches):
    branches.change_base(append({5: "tue"}))
    first = branches.open(branches.base).snapshots()[0].snapshot_id
    branches.change_source(
        lambda table: table.manage_snapshots().rollback_to_snapshot(first).commit()
    )
    branches.change_destination(append({6: "mon"}))
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.rows(merged) == {1: "mon", 2: "mon", 3: "tue", 4: "wed", 6: "mon"}
    branches.change_destination(delete("id = 3"))
    assert {"spec": 0, "partition": {"day": "tue"}} in [
        conflict.key for conflict in branches.merge()[1].conflicts
    ]


def test_an_append_that_is_taken_back_and_rows_of_its_partition(branches):
    before = branches.base
    branches.change_base(append({5: "mon"}))
    branches.change_destination(append({6: "mon"}))
    sides = branches.base, before, branches.destination
    merged, run = branches.merge(*sides)
    assert run.conflicts == []
    assert branches.rows(merged) == {1: "mon", 2: "mon", 3: "tue", 4: "wed", 6: "mon"}
    assert branches.merge(*sides, isolation="serializable")[1].conflicts


def test_files_that_a_rollback_needs_and_the_other_side_removed(branches):
    branches.change_base(delete("id = 3"))
    first = branches.open(branches.base).snapshots()[0].snapshot_id
    branches.change_source(
        lambda table: table.manage_snapshots().set_current_snapshot(first).commit()
    )
    branches.change_destination(append({6: "mon"}))
    (lost,) = (branches.destination / "data" / "day=tue").iterdir()
    lost.unlink()
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.rows(merged) == {1: "mon", 2: "mon", 3: "tue", 4: "wed", 6: "mon"}


def edit_manifests(folder, **changed):
    """Changes the data files that the current snapshot has added, and calls them deletions."""
    metadata = json.loads(current(folder).read_bytes())
    snapshot = metadata["snapshots"][-1]
    path = folder / "metadata" / snapshot["manifest-list"].rsplit("/", 1)[1]
    listed = read_avro("list", path.read_bytes())
    for record in listed.records:
        if record["added_snapshot_id"] != snapshot["snapshot-id"]:
            continue
        manifest = folder / "metadata" / record["manifest_path"].rsplit("/", 1)[1]
        file = read_avro("manifest", manifest.read_bytes())
        for entry in file.records:
            entry["data_file"].update(changed)
        manifest.write_bytes(write_avro(file.schema, file.metadata, file.records))
        record["content"] = 1
    path.write_bytes(write_avro(listed.schema, listed.metadata, listed.records))


def test_deletes_by_value(branches):
    """They would also delete the destination's rows, which the source has not seen."""
    branches.change_source(append({5: "mon"}))
    edit_manifests(branches.source, content=2, equality_ids=[1])
    branches.change_destination(append({6: "mon"}))
    (conflict,) = branches.merge()[1].conflicts
    assert conflict.message == "the source deletes rows by their values"

    # those of the destination do not concern rows that the source adds, but those that it rewrites
    _, run = branches.merge(branches.base, branches.destination, branches.source)
    assert run.conflicts == []
    overwritten = branches.change(branches.base, delete("id = 1"))
    _, run = branches.merge(branches.base, overwritten, branches.source)
    assert "deletes rows by their values, and the source rewrote" in run.conflicts[0].message


def test_deletes_by_position(branches):
    """Without the bounds of its paths, a file could delete rows from any file."""
    base = read_tree(branches.base)
    file = next(path for path in base if "day=tue" in path)
    bounds = [{"key": 2147483546, "value": f"{branches.table.as_uri()}/{file}".encode()}]
    branches.change_source(append({5: "mon"}))
    edit_manifests(branches.source, content=1, lower_bounds=bounds, upper_bounds=bounds)
    branches.change_destination(delete("id = 4"))
    _, run = branches.merge()
    assert run.conflicts == []
    branches.change_destination(delete("id = 3"))
    assert [conflict.key for conflict in branches.merge()[1].conflicts] == [
        {"file": bounds[0]["value"].decode()}
    ]
    edit_manifests(branches.source, upper_bounds=None)
    branches.destination = branches.change(branches.base, delete("id = 4"))
    (conflict,) = branches.merge()[1].conflicts
    assert "may be in files that the other side changed" in conflict.message


def test_table_that_both_sides_created(branches):
    base = branches.folder / "empty"
    base.mkdir()
    other = branches.change(branches.base, append({5: "mon"}))
    with pytest.raises(Conflict, match="both sides created the table"):
        branches.merge(base, branches.base, other)


def test_table_that_one_side_created_anew_or_deleted(branches):
    branches.change_destination(append({5: "mon"}))
    shutil.rmtree(branches.table)
    branches.table.mkdir()
    branches.catalog.create()
    branches.source = branches.change(branches.save(), append({6: "mon"}))
    branches.change_source(append({7: "mon"}))
    with pytest.raises(Conflict, match="the source created the table anew"):
        branches.merge()
    (branches.folder / "nothing" / "metadata").mkdir(parents=True)
    with pytest.raises(Conflict, match="the source deleted the table"):
        run_strategy(
            *(iceberg_strategy({}), "metadata/v3.metadata.json"),
            base=read_tree(branches.base),
            source={"metadata/v3.metadata.json.bak": b""},
            destination=read_tree(branches.destination),
        )


@pytest.mark.sample(1)
@pytest.mark.parametrize("version", [4, "2", None])
def test_unknown_format_versions(branches, version):
    branches.change_source(append({5: "mon"}))
    branches.change_destination(append({6: "mon"}))
    edit(branches.source, **{"format-version": version})
    with pytest.raises(Conflict, match=r"format version 4|cannot be read"):
        branches.merge()


def test_compressed_metadata(branches):
    branches.change_source(append({5: "mon"}))
    branches.change_destination(append({6: "mon"}))
    branches.change_destination(delete("id = 1"))
    file = current(branches.source)
    file.with_name("v3.gz.metadata.json").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    merged, _ = branches.merge()
    assert branches.rows(merged) == {2: "mon", 3: "tue", 4: "wed", 5: "mon", 6: "mon"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"format-version":2,"snapshots":[{}]}',
        b"[" * 10_000,
        b"\x1f\x8b",
        b"\xff",
    ],
)
@pytest.mark.sample(1)
def test_a_damaged_metadata_file_is_named(branches, content):
    branches.change_source(append({5: "mon"}))
    branches.change_destination(append({6: "mon"}))
    current(branches.source).write_bytes(content)
    with pytest.raises(Conflict, match=r"v3\.metadata\.json of the source cannot be read"):
        branches.merge()


@pytest.mark.parametrize("content", [b"", b"Obj\x01", b"Obj\x01" + b"\xff" * 100, None])
@pytest.mark.parametrize("name", ["snap-*.avro", "*-m0.avro"])
@pytest.mark.sample(1)
def test_a_damaged_or_missing_manifest_is_named(branches, name, content):
    branches.change_source(append({5: "mon"}))
    branches.change_destination(append({6: "mon"}))
    old = {file.name for file in (branches.base / "metadata").iterdir()}
    (file,) = (file for file in (branches.source / "metadata").glob(name) if file.name not in old)
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(Conflict, match=file.name):
        branches.merge()


def test_a_truncated_manifest_is_named(branches):
    branches.change_source(append({5: "mon"}))
    branches.change_destination(append({6: "mon"}))
    old = {file.name for file in (branches.base / "metadata").iterdir()}
    files = [file for file in (branches.source / "metadata").glob("*.avro") if file.name not in old]
    for file in files:
        content = file.read_bytes()
        for end in range(0, len(content), 97):
            file.write_bytes(content[:end])
            with pytest.raises(Conflict, match=file.name):
                branches.merge()
        file.write_bytes(content)


def test_two_current_metadata_files(tmp_path):
    """As after a merge by paths of a table whose current file is known to a catalog only."""
    branches = IcebergBranches(tmp_path, hadoop=False)
    branches.change_source(append({5: "mon"}))
    branches.change_destination(append({6: "mon"}))
    for file in (branches.source / "metadata").glob("00003-*"):
        file.with_name("00003-other.metadata.json").write_bytes(file.read_bytes())
    (branches.source / "metadata" / "version-hint.text").unlink()
    with pytest.raises(Conflict, match=r"and no version-hint\.text that names"):
        branches.merge()


def test_later_files_of_a_table_that_cannot_be_merged_refer_to_the_first(branches):
    branches.change_source(delete("id = 1"))
    branches.change_destination(delete("id = 2"))
    sides = (branches.base, branches.source, branches.destination)
    base, source, destination = map(read_tree, sides)
    with pytest.raises(Conflict, match=r"as a whole: see metadata/v3\.metadata\.json"):
        run_strategy(
            *(iceberg_strategy({}), "metadata/version-hint.text"),
            base=base,
            source=source,
            destination=destination,
        )


def test_metadata_at_different_addresses_needs_the_option_location(branches):
    branches.change_source(append({5: "mon"}))
    branches.change_destination(append({6: "mon"}))
    metadata = json.loads(current(branches.source).read_bytes())
    for snapshot in metadata["snapshots"]:
        name = snapshot["manifest-list"].rsplit("/", 1)[1]
        snapshot["manifest-list"] = f"s3a://sea/dev/t/metadata/{name}"
    edit(branches.source, snapshots=metadata["snapshots"])
    with pytest.raises(
        Conflict, match=r"different addresses, file:.* and s3a://sea/dev/t/metadata:"
    ):
        branches.merge()
    merged, run = branches.merge(location=f"{branches.table.as_uri()}/")
    assert run.conflicts == []
    assert branches.rows(merged) == {1: "mon", 2: "mon", 3: "tue", 4: "wed", 5: "mon", 6: "mon"}


@pytest.mark.parametrize(
    "options", [{"location": ""}, {"location": 1}, {"key": "id"}, {"isolation": "none"}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(Invalid, match=next(iter(options))) as caught:
        iceberg_strategy(options)
    assert caught.value.kind == "invalid_merge_options"


def test_a_path_outside_of_the_metadata_is_refused():
    with pytest.raises(Conflict, match="not in the metadata of an Iceberg table"):
        run_strategy(iceberg_strategy({}), "t/data/a.parquet", source=b"1", destination=b"2")
