"""What becomes of checkpoints, checksums, cleaned logs and vacuumed files when logs are merged."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from support.formats.delta_tables import (
    LOG,
    append,
    commit_actions,
    delete,
    log_names,
    open_table,
    overwrite,
    rows,
    table_folder,
    write_commit,
)

from anabranch.errors import Conflict
from anabranch.versioning.strategies.delta.commit import parse_commit

BASE = {1: "mon", 2: "mon", 3: "tue", 4: "wed"}
ADD = {"partitionValues": {"day": "mon"}, "size": 1, "modificationTime": 0, "dataChange": True}


def append_many(folder, numbers):
    for number in numbers:
        append(folder, {number: "mon"})


def last_checkpoint(folder):
    return json.loads((folder / LOG / "_last_checkpoint").read_text())["version"]


def test_checkpoints_of_both_sides(branches):
    """That of the source lacks the destination's rows, so it may not stay."""
    append_many(branches.source, range(10, 24))
    append_many(branches.destination, range(30, 42))
    open_table(branches.source).create_checkpoint()
    open_table(branches.destination).create_checkpoint()
    merged, conflicts = branches.merge()
    assert conflicts == []
    numbers = [*BASE, *range(10, 24), *range(30, 42)]
    assert sorted(rows(merged)) == numbers
    assert last_checkpoint(merged) == 12
    assert [name for name in log_names(merged) if "checkpoint" in name] == [
        name for name in log_names(branches.destination) if "checkpoint" in name
    ]
    open_table(merged).create_checkpoint()
    assert sorted(rows(merged)) == numbers


def test_checkpoint_of_the_source_alone(branches):
    append_many(branches.source, range(10, 13))
    open_table(branches.source).create_checkpoint()
    append(branches.destination, {30: "mon"})
    merged, conflicts = branches.merge()
    assert conflicts == []
    assert sorted(rows(merged)) == [1, 2, 3, 4, 10, 11, 12, 30]
    assert not [name for name in log_names(merged) if "checkpoint" in name]


def test_checkpoint_of_the_base_tells_protocol_and_schema(branches):
    append_many(branches.base, range(10, 13))
    open_table(branches.base).create_checkpoint()
    append(branches.base, {13: "mon"})
    for version in range(3):
        (branches.base / LOG / f"{version:020}.json").unlink()
    branches.fork()
    delete(branches.source, "day = 'tue'")
    delete(branches.destination, "day = 'wed'")
    merged, conflicts = branches.merge()
    assert conflicts == []
    assert sorted(rows(merged)) == [1, 2, 10, 11, 12, 13]


def split_checkpoint(folder, version):
    """Replaces a checkpoint by one of two parts, of which the second has protocol and metadata."""
    log = folder / LOG
    whole = log / f"{version:020}.checkpoint.parquet"
    table = pq.read_table(whole)
    is_add = table["add"].is_valid()
    for part, chosen in enumerate((is_add, pa.compute.invert(is_add)), 1):
        pq.write_table(
            table.filter(chosen), log / f"{version:020}.checkpoint.{part:010}.{2:010}.parquet"
        )
    whole.unlink()


def rename_checkpoint(folder, version):
    """Gives a checkpoint the name of one of version 2, in Parquet."""
    log = folder / LOG
    name = f"{version:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet"
    (log / f"{version:020}.checkpoint.parquet").rename(log / name)


def write_json_checkpoint(folder, version):
    """Replaces a checkpoint by one of version 2, in JSON."""
    log = folder / LOG
    name = f"{version:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
    actions = [{"checkpointMetadata": {"version": version}}, *commit_actions(folder, 0)[1:]]
    (log / name).write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    (log / f"{version:020}.checkpoint.parquet").unlink()


@pytest.mark.parametrize("change", [split_checkpoint, rename_checkpoint, write_json_checkpoint])
def test_forms_of_checkpoints(branches, change):
    append_many(branches.base, range(10, 12))
    open_table(branches.base).create_checkpoint()
    change(branches.base, 2)
    (branches.base / LOG / f"{0:020}.json").unlink()
    branches.fork()
    append_by_hand(branches.source, 3, "a")
    append_by_hand(branches.destination, 3, "b")
    merged, conflicts = branches.merge()
    assert conflicts == []
    assert commit_actions(merged, 4)[1:] == [{"add": {"path": "a", **ADD}}]


def test_half_a_checkpoint_of_parts_does_not_count(branches):
    append_many(branches.base, range(10, 12))
    open_table(branches.base).create_checkpoint()
    split_checkpoint(branches.base, 2)
    (branches.base / LOG / f"{2:020}.checkpoint.{2:010}.{2:010}.parquet").unlink()
    (branches.base / LOG / f"{0:020}.json").unlink()
    branches.fork()
    append_by_hand(branches.source, 3, "a")
    append_by_hand(branches.destination, 3, "b")
    with pytest.raises(Conflict, match="no protocol or metadata"):
        branches.merge()


def append_by_hand(folder, version, path, **info):
    write_commit(folder, version, {"commitInfo": info}, {"add": {"path": path, **ADD}})


def test_files_that_describe_the_source_are_left_out(branches):
    append(branches.source, {5: "mon"})
    append(branches.destination, {6: "mon"})
    names = [
        f"{1:020}.crc",
        f".{1:020}.json.crc",
        f"{0:020}.{1:020}.compacted.json",
        "_sidecars/3a0d65cd.parquet",
    ]
    for name in names:
        file = branches.source / LOG / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("source")
    (branches.destination / LOG / names[0]).write_text("destination")
    merged, _ = branches.merge()
    found = [name for name in names if (merged / LOG / name).exists()]
    assert found == [names[0]]
    assert (merged / LOG / names[0]).read_text() == "destination"


def test_log_that_the_source_cleaned_up(branches):
    """The destination's log stays whole, since the source's checkpoint is left out."""
    append_many(branches.base, range(10, 14))
    branches.fork()
    append_many(branches.source, range(20, 22))
    open_table(branches.source).create_checkpoint()
    for version in range(3):
        (branches.source / LOG / f"{version:020}.json").unlink()
    append(branches.destination, {30: "mon"})
    merged, conflicts = branches.merge()
    assert conflicts == []
    assert sorted(rows(merged)) == [1, 2, 3, 4, 10, 11, 12, 13, 20, 21, 30]
    assert rows(merged, version=0) == BASE


def test_log_that_the_destination_cleaned_up(branches):
    append_many(branches.base, range(10, 14))
    branches.fork()
    append_many(branches.source, range(20, 22))
    append_many(branches.destination, range(30, 32))
    open_table(branches.destination).create_checkpoint()
    for version in range(4):
        (branches.destination / LOG / f"{version:020}.json").unlink()
    merged, conflicts = branches.merge()
    assert conflicts == []
    assert sorted(rows(merged)) == [1, 2, 3, 4, 10, 11, 12, 13, 20, 21, 30, 31]

    (branches.destination / LOG / f"{5:020}.json").unlink()
    with pytest.raises(Conflict, match="the log of the destination does not have version 5"):
        branches.merge()


def test_vacuum_of_one_side(branches):
    overwrite(branches.base, "mon", [5])
    branches.fork()
    overwrite(branches.source, "tue", [6])
    DeltaTable(table_folder(branches.source)).vacuum(
        0, dry_run=False, enforce_retention_duration=False
    )
    append(branches.destination, {7: "wed"})
    for sides in (
        (branches.base, branches.source, branches.destination),
        (branches.base, branches.destination, branches.source),
    ):
        merged, conflicts = branches.merge(*sides)
        assert conflicts == []
        assert rows(merged) == {5: "mon", 6: "tue", 4: "wed", 7: "wed"}


@pytest.mark.parametrize("restored", ["source", "destination"])
def test_files_that_one_side_restored_and_the_other_vacuumed(branches, restored):
    overwrite(branches.base, "mon", [5])
    branches.fork()
    one, other = branches.source, branches.destination
    if restored == "destination":
        one, other = other, one
    open_table(one).restore(0)
    append(other, {7: "wed"})
    open_table(other).vacuum(0, dry_run=False, enforce_retention_duration=False)
    merged, conflicts = branches.merge(isolation="write-serializable")
    assert conflicts == []
    assert rows(merged) == {**BASE, 7: "wed"}


def test_times_in_commits_grow_with_the_version(branches):
    info, protocol, meta, *rest = commit_actions(branches.base, 0)
    protocol = {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["inCommitTimestamp"],
    }
    meta["metaData"]["configuration"]["delta.enableInCommitTimestamps"] = "true"
    info["commitInfo"]["inCommitTimestamp"] = 1000
    write_commit(branches.base, 0, info, {"protocol": protocol}, meta, *rest)
    branches.fork()
    for version, time in ((1, 1500), (2, 3000)):
        append_by_hand(branches.source, version, f"s{version}", inCommitTimestamp=time)
    append_by_hand(branches.destination, 1, "d", inCommitTimestamp=2000)
    merged, conflicts = branches.merge()
    assert conflicts == []
    times = [
        commit_actions(merged, version)[0]["commitInfo"]["inCommitTimestamp"]
        for version in range(4)
    ]
    assert times == [1000, 2000, 2001, 3000]


def test_deletion_vectors_of_one_file_conflict_and_of_others_do_not(branches):
    info = {"commitInfo": {"operation": "DELETE", "operationParameters": {"predicate": "id = 1"}}}
    files = [{"path": path, **ADD} for path in ("x", "y")]
    write_commit(branches.base, 1, *({"add": file} for file in files))
    branches.fork()
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 1}

    def mark(folder, file, time=1):
        removed = {**file, "deletionTimestamp": time}
        write_commit(
            folder, 2, info, {"remove": removed}, {"add": {**file, "deletionVector": vector}}
        )

    mark(branches.source, files[0])
    mark(branches.destination, files[1])
    _, conflicts = branches.merge(isolation="snapshot")
    assert conflicts == []
    mark(branches.destination, files[0], time=2)
    _, (conflict,) = branches.merge(isolation="snapshot")
    assert conflict.key["file"] == "x"


def test_paths_are_compared_without_their_escapes(branches):
    info = {"commitInfo": {"operation": "DELETE"}}
    write_commit(branches.base, 1, {"add": {"path": "a%3Ab.parquet", **ADD}})
    branches.fork()
    for folder, path in ((branches.source, "a:b.parquet"), (branches.destination, "a%3ab.parquet")):
        write_commit(folder, 2, info, {"remove": {"path": path, **ADD}})
    _, (conflict,) = branches.merge(isolation="snapshot")
    assert conflict.key["file"] == "a:b.parquet"


def test_files_at_absolute_addresses(branches):
    """As those of a shallow clone: their table's files cannot be missing here."""
    elsewhere = branches.folder / "elsewhere.parquet"
    (file,) = (table_folder(branches.base) / "day=tue").iterdir()
    shutil.move(file, elsewhere)
    actions = commit_actions(branches.base, 0)
    for action in actions:
        if action.get("add", {}).get("path", "").startswith("day=tue"):
            action["add"]["path"] = elsewhere.as_uri()
    write_commit(branches.base, 0, *actions)
    branches.fork()
    removed = next(a["add"] for a in actions if a.get("add", {}).get("path") == elsewhere.as_uri())
    remove = {"path": removed["path"], "deletionTimestamp": 1, "dataChange": True}
    write_commit(branches.source, 1, {"remove": {**remove, "partitionValues": {"day": "tue"}}})
    append(branches.destination, {5: "mon"})
    merged, conflicts = branches.merge(isolation="write-serializable")
    assert conflicts == []
    removes = [action["remove"] for action in commit_actions(merged, 2) if "remove" in action]
    assert [each["path"] for each in removes] == [elsewhere.as_uri()]


def test_file_of_a_deletion_vector():
    """The example of the protocol, section "Deletion Vector Descriptor Schema"."""
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^"}
    line = json.dumps({"add": {"path": "a.parquet", "deletionVector": vector}})
    (action,) = parse_commit("base", 0, line.encode()).adds
    assert list(action.stored_files()) == [
        "a.parquet",
        "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
    ]
