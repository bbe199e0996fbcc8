"""Changes of Delta tables that conflict, by Delta's own rules, and tables that are refused."""

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from support.formats.delta_tables import (
    LOG,
    append,
    commit_actions,
    delete,
    log_files,
    open_table,
    overwrite,
    rows,
    table_folder,
    write_commit,
)

from anabranch.errors import Conflict, Invalid
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.delta.strategy import delta_strategy


def conflict_of(branches, **options):
    """Returns the only conflict of a merge."""
    merged, conflicts = branches.merge(**options)
    assert not merged.exists()
    (conflict,) = conflicts
    return conflict


def test_partition_that_both_sides_overwrote(branches):
    overwrite(branches.source, "tue", [5])
    overwrite(branches.destination, "tue", [6])
    first, second = branches.merge()[1]
    assert first.message == "both sides removed or replaced the file"
    assert first.key["version"] == 1
    assert first.key["file"].startswith("day=tue/part-")
    assert first.source == {"version": 1, "operation": "WRITE"}
    assert first.destination == {"version": 1, "operation": "WRITE"}
    assert "depends on rows" in second.message


def test_new_partition_that_both_sides_overwrote(branches):
    """Neither side removes a file, and still the last one would have to win."""
    overwrite(branches.source, "sun", [5])
    overwrite(branches.destination, "sun", [6])
    assert "depends on rows" in conflict_of(branches).message


@pytest.mark.parametrize("isolation", ["serializable", "write-serializable", "snapshot"])
def test_row_deleted_from_the_file_that_the_other_side_compacted(branches, isolation):
    append(branches.base, {5: "mon"})
    branches.fork()
    delete(branches.source, "id = 5")
    open_table(branches.destination).optimize.compact()
    conflict = conflict_of(branches, isolation=isolation)
    assert conflict.message == "both sides removed or replaced the file"
    assert conflict.destination["operation"] == "OPTIMIZE"


def test_operations_that_read_rows_of_the_other_side(branches):
    """Both change rows by a predicate on rows, which the other side's rows could match."""
    delete(branches.source, "id = 3")
    open_table(branches.destination).update(predicate="id = 1", updates={"id": "30"})
    assert "depends on rows" in conflict_of(branches).message
    merged, conflicts = branches.merge(isolation="snapshot")
    assert conflicts == []
    assert rows(merged) == {30: "mon", 2: "mon", 4: "wed"}


@pytest.mark.parametrize(
    ("level", "conflicts"),
    [(None, True), ("Serializable", True), ("WriteSerializable", False), ("Snapshot", True)],
)
def test_level_of_the_table_decides_about_appends(branches, level, conflicts):
    """With WriteSerializable, the deletion comes first; with Delta's default it cannot."""
    if level is not None:
        open_table(branches.base).alter.set_table_properties(
            {"delta.isolationLevel": level}, raise_if_not_exists=False
        )
        branches.fork()
    delete(branches.source, "id > 2")
    append(branches.destination, {5: "tue"})
    if conflicts:
        assert "depends on rows" in conflict_of(branches).message
    else:
        merged, found = branches.merge()
        assert found == []
        assert rows(merged) == {1: "mon", 2: "mon", 5: "tue"}


@pytest.mark.parametrize("level", ["Serializable", "WriteSerializable"])
def test_option_replaces_the_level_of_the_table(branches, level):
    open_table(branches.base).alter.set_table_properties({"delta.isolationLevel": level})
    branches.fork()
    delete(branches.source, "id > 2")
    append(branches.destination, {5: "tue"})
    assert "depends on rows" in conflict_of(branches, isolation="serializable").message
    for isolation in ("write-serializable", "snapshot"):
        assert branches.merge(isolation=isolation)[1] == []


def test_rows_that_both_sides_merged_in(branches):
    """MERGE reads the table, even if it only inserts."""
    for folder in (branches.source, branches.destination):
        new = pa.table({"id": pa.array([9], pa.int64()), "day": ["fri"]})
        merge = open_table(folder).merge(new, "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_not_matched_insert_all().execute()
    assert "depends on rows" in conflict_of(branches).message


def test_full_overwrites_of_both_sides(branches):
    """Nothing is removed by the second, whose table is empty."""
    delete(branches.base, "id > 0")
    branches.fork()
    append(branches.source, {5: "mon"}, mode="overwrite")
    append(branches.destination, {6: "tue"}, mode="overwrite")
    assert "depends on rows" in conflict_of(branches).message


def test_append_that_has_read_the_table(branches):
    """Spark notes that an append is not blind: its rows may be copies of rows of the table."""
    append(branches.source, {5: "mon"})
    info, added = commit_actions(branches.source, 1)
    info["commitInfo"]["isBlindAppend"] = False
    write_commit(branches.source, 1, info, added)
    delete(branches.destination, "day = 'tue'")
    assert "depends on rows" in conflict_of(branches).message


@pytest.mark.parametrize("changed", ["source", "destination"])
def test_schema_that_one_side_changed(branches, changed):
    sides = {"source": branches.source, "destination": branches.destination}
    new = pa.table({"id": pa.array([5], pa.int64()), "day": ["mon"], "price": [1.5]})
    write_deltalake(table_folder(sides.pop(changed)), new, mode="append", schema_mode="merge")
    append(next(iter(sides.values())), {6: "mon"})
    conflict = conflict_of(branches)
    assert conflict.key == {"version": 1, "action": "metaData"}
    assert conflict.message.startswith(f"the {changed} changed the table's schema or properties")


def test_protocol_that_one_side_changed(branches):
    open_table(branches.source).alter.add_constraint({"positive": "id > 0"})
    append(branches.destination, {6: "mon"})
    actions = {conflict.key["action"] for conflict in branches.merge()[1]}
    assert actions == {"protocol", "metaData"}


def test_restore_repeats_the_metadata_and_changes_nothing(branches):
    append(branches.base, {5: "tue"})
    branches.fork()
    open_table(branches.source).restore(0)
    assert any("metaData" in action for action in commit_actions(branches.source, 2))
    append(branches.destination, {6: "mon"})
    merged, conflicts = branches.merge(isolation="write-serializable")
    assert conflicts == []
    assert rows(merged) == {1: "mon", 2: "mon", 3: "tue", 4: "wed", 6: "mon"}


def test_application_that_wrote_to_both_sides(branches):
    for number, (folder, name) in enumerate(
        [(branches.source, "loader"), (branches.destination, "loader")], 5
    ):
        properties = CommitProperties(app_transactions=[Transaction(name, number)])
        append(folder, {number: "mon"}, commit_properties=properties)
    conflict = conflict_of(branches)
    assert conflict.key == {"version": 1, "application": "loader"}


def test_domain_that_both_sides_changed(branches):
    for folder in (branches.source, branches.destination):
        append(folder, {5: "mon"})
        domain = {"domain": "app", "configuration": "{}", "removed": False}
        write_commit(folder, 1, *commit_actions(folder, 1), {"domainMetadata": domain})
    assert conflict_of(branches).key == {"version": 1, "domain": "app"}


def test_table_that_both_sides_created(branches):
    for number, folder in enumerate((branches.source, branches.destination)):
        write_deltalake(folder / "new", pa.table({"id": [number]}))
    with pytest.raises(Conflict, match="both sides created the table"):
        branches.merge()


def test_table_that_one_side_created_anew(branches):
    append(branches.destination, {5: "mon"})
    for file in table_folder(branches.source).rglob("*"):
        if file.is_file():
            file.unlink()
    append(branches.source, {1: "mon"})
    append(branches.source, {2: "mon"})
    with pytest.raises(Conflict, match="no commit in common"):
        branches.merge()


def test_commit_that_one_side_has_taken_back(branches):
    """Its file was removed, as by a revert of the commit of the repository."""
    append(branches.base, {5: "mon"})
    branches.fork()
    (branches.source / LOG / f"{1:020}.json").unlink()
    append(branches.source, {6: "mon"})
    open_table(branches.destination).create_checkpoint()
    append(branches.destination, {7: "mon"})
    (branches.destination / LOG / f"{1:020}.json").write_text("{}\n")
    with pytest.raises(Conflict, match="has removed version 1 of the base"):
        branches.merge()


def test_later_files_of_a_log_that_cannot_be_merged_refer_to_the_first(branches):
    for _ in range(3):
        append(branches.source, {5: "mon"})
        append(branches.destination, {6: "mon"})
    trees = [log_files(side) for side in (branches.base, branches.source, branches.destination)]
    path = f"{LOG}/{3:020}.json"
    with pytest.raises(Conflict, match=f"merged as a whole: see {LOG}/{2:020}.json"):
        run_strategy(
            *(delta_strategy({}), path), base=trees[0], source=trees[1], destination=trees[2]
        )


@pytest.mark.parametrize("feature", ["rowTracking", "catalogManaged", "someFeature-preview"])
def test_features_that_number_rows_or_are_unknown(branches, feature):
    info, protocol, *rest = commit_actions(branches.base, 0)
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [feature]}
    write_commit(branches.base, 0, info, {"protocol": protocol}, *rest)
    branches.fork()
    change_twice(branches)
    with pytest.raises(Conflict, match=f"the table has the feature {feature}"):
        branches.merge()


def test_newer_protocol(branches):
    info, _, *rest = commit_actions(branches.base, 0)
    protocol = {"minReaderVersion": 4, "minWriterVersion": 8}
    write_commit(branches.base, 0, info, {"protocol": protocol}, *rest)
    branches.fork()
    change_twice(branches)
    with pytest.raises(Conflict, match="protocol is unknown: reader 4, writer 8"):
        branches.merge()


def change_twice(branches):
    """Adds a commit to both sides by hand, since deltalake does not write to such tables."""
    for side in (branches.source, branches.destination):
        add = {"path": f"{side.name}.parquet", "partitionValues": {"day": "x"}, "dataChange": True}
        write_commit(side, 1, {"add": add})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"add":{"path":"a.parquet"', "truncated"),
        (b'{"add":{"path":7}}', "Expected `str`"),
        (b'{"sidecar":{"path":"a"}}', "unknown field `sidecar`"),
        (b"[]", "Expected `object`"),
        (b"[" * 10_000, ""),
        (b'{"commitInfo":' + b'{"a":' * 10_000, ""),
        (b"\xff\xfe", ""),
        (b'{"commitInfo":{"anabranchRebase":1}}', "Expected `object`"),
    ],
)
@pytest.mark.sample(4)
def test_a_damaged_commit_is_named(branches, content, reason):
    append(branches.destination, {5: "mon"})
    (branches.source / LOG / f"{1:020}.json").write_bytes(content)
    with pytest.raises(Conflict, match=f"version 1 of the source cannot be read: .*{reason}"):
        branches.merge()


@pytest.mark.parametrize("options", [{"isolation": "none"}, {"isolation": None}, {"key": "id"}])
def test_wrong_options_are_refused(options):
    with pytest.raises(Invalid, match=next(iter(options))) as caught:
        delta_strategy(options)
    assert caught.value.kind == "invalid_merge_options"


def test_partitions_of_types_that_writers_spell_differently(tmp_path, branches):
    """A predicate on such a column could match other spellings, so all partitions are compared."""
    days = pa.array([0, 10**6], pa.timestamp("us"))
    base = tmp_path / "times"
    write_deltalake(base / "t", pa.table({"id": [1, 2], "at": days}), partition_by=["at"])
    branches.base = base
    branches.fork()
    DeltaTable(branches.source / "t").delete("at = '1970-01-01 00:00:00'")
    DeltaTable(branches.destination / "t").delete("at = '1970-01-01 00:00:01'")
    (conflict,) = branches.merge()[1]
    assert "depends on rows" in conflict.message
    assert conflict.key == {"version": 1}
