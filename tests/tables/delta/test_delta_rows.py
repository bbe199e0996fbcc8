"""Rows of Delta tables, as the package deltalake reads them."""

import datetime as dt
import json
import shutil
import struct
import zlib
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyroaring import BitMap64
from support.formats.folder_objects import FolderObjects, live_rows
from support.formats.table_rows import comparable_rows

from anabranch.errors import Invalid
from anabranch.tables.delta.snapshot import read_delta_table, read_delta_versions
from anabranch.tables.live_rows import relation
from anabranch.tables.live_rows.addresses import TablePlace

PLACE = TablePlace("sea", "tables/t/")
UTC = dt.UTC
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "text": pa.string(),
        "day": pa.date32(),
        "price": pa.decimal128(10, 2),
        "at": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
        "flag": pa.bool_(),
        "raw": pa.binary(),
        "level": pa.float64(),
        "small": pa.int8(),
        "nested": pa.struct({"x": pa.int32(), "words": pa.list_(pa.string())}),
        "by_name": pa.map_(pa.string(), pa.struct({"y": pa.float32()})),
    }
)
ROWS = [
    {
        "id": number,
        "text": ["", "a b", "ü:%/x=1", None][number % 4],
        "day": dt.date(1850 + 40 * number, 2, 28) if number % 3 else None,
        "price": Decimal("1.50") if number % 2 else Decimal("12345678.99"),
        "at": dt.datetime(1950 + 10 * number, 1, 1, number, 0, 0, 5, tzinfo=UTC),
        "local": dt.datetime(1900, 1, 1, number, 30),  # noqa: DTZ001
        "flag": bool(number % 2),
        "raw": b"ab" if number % 2 else b"cd",
        "level": [float("nan"), float("inf"), 1.5][number % 3],
        "small": -number,
        "nested": None if number % 2 else {"x": number, "words": ["q", None]},
        "by_name": [("k", {"y": 1.5}), ("n", None)] if number % 3 else [],
    }
    for number in range(8)
]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "tables" / "t"


@pytest.fixture
def objects(tmp_path):
    return FolderObjects(tmp_path)


@pytest.fixture
def read(objects):
    def read(version=None, **options):
        return live_rows(read_delta_table(objects, PLACE, version), objects, **options)

    return read


def rows(*numbers):
    return pa.Table.from_pylist([ROWS[number] for number in numbers], SCHEMA)


def assert_same(read, folder, version=None):
    expected = DeltaTable(folder, version=version).to_pyarrow_table()
    found = read(version)
    assert found.column_names == expected.column_names
    assert comparable_rows(found) == comparable_rows(expected)


@pytest.mark.parametrize(
    "columns",
    [
        *([], ["text"], ["day"], ["price"], ["at"], ["local"], ["flag"], ["raw"], ["level"]),
        *(["small"], ["text", "day"], ["flag", "small", "at"]),
    ],
    ids="-".join,
)
@pytest.mark.sample(1)
def test_rows_of_partitions_by_every_type_are_those_of_deltalake(folder, read, columns):
    write_deltalake(folder, rows(*range(8)), partition_by=columns)
    write_deltalake(folder, rows(0, 1, 2), mode="append")
    DeltaTable(folder).delete("id = 2")
    DeltaTable(folder).update(updates={"small": "1"}, predicate="id = 1")
    for version in range(4):
        assert_same(read, folder, version)
    assert_same(read, folder)


def test_every_operation_leaves_the_rows_that_deltalake_reads(folder, read):
    write_deltalake(folder, rows(*range(8)), partition_by=["flag"])
    table = DeltaTable(folder)
    changed = pa.Table.from_pylist([{**ROWS[1], "text": "new"}, {**ROWS[7], "id": 70}], SCHEMA)
    merger = table.merge(changed, "t.id = s.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()
    assert_same(read, folder)
    write_deltalake(folder, rows(3, 5), mode="overwrite", predicate="flag = true")
    assert_same(read, folder)
    DeltaTable(folder).optimize.compact()
    assert_same(read, folder)
    table = DeltaTable(folder)
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert_same(read, folder)
    DeltaTable(folder).restore(3)  # its files were not vacuumed: the last one wrote them
    write_deltalake(folder, rows(6), mode="overwrite")
    assert_same(read, folder)
    DeltaTable(folder).delete()
    assert read().num_rows == 0


def test_columns_that_are_added_later_are_null_before(folder, read):
    write_deltalake(folder, rows(0, 1).select(["id", "text"]))
    write_deltalake(folder, rows(2, 3), mode="append", schema_mode="merge")
    assert_same(read, folder)
    write_deltalake(folder, rows(4).select(["small"]), mode="overwrite", schema_mode="overwrite")
    assert_same(read, folder)


@pytest.mark.sample(1)
@pytest.mark.parametrize("first", [0, 3, 10])
def test_checkpoints_stand_for_the_commits_before_them(folder, read, first):
    for number in range(12):
        write_deltalake(folder, rows(number % 8), mode="append", partition_by=["flag"])
        if number % 5 == 4:
            DeltaTable(folder).create_checkpoint()
            DeltaTable(folder).delete(f"id = {number % 8}")
    head = DeltaTable(folder).version()
    DeltaTable(folder).create_checkpoint()
    for version in range(first):
        (folder / "_delta_log" / f"{version:020}.json").unlink()
    assert_same(read, folder)
    assert_same(read, folder, head - 1)


def test_a_log_that_lacks_commits_is_refused(folder, read):
    for _ in range(3):
        write_deltalake(folder, rows(1), mode="append")
    (folder / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(Invalid, match="does not have version 1"):
        read()


def vector_action(numbers, folder, storage):
    """Returns the deletion vector of some rows, stored inline or in a file."""
    content = struct.pack("<I", 1681511377) + BitMap64(numbers).serialize()
    about = {"sizeInBytes": len(content), "cardinality": len(numbers)}
    if storage == "i":
        padded = content + b"\0" * (-len(content) % 4)
        return {"storageType": "i", "pathOrInlineDv": z85(padded), **about}
    number = bytes.fromhex("d2c639aa88164b10bff3b9ac3c1aa9a7")
    framed = struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))
    (folder / "ab").mkdir()
    name = "deletion_vector_d2c639aa-8816-4b10-bff3-b9ac3c1aa9a7.bin"
    (folder / "ab" / name).write_bytes(b"\x01" + framed)
    path = f"ab{z85(number)}" if storage == "u" else f"s3a://sea/main/tables/t/ab/{name}"
    return {"storageType": storage, "pathOrInlineDv": path, "offset": 1, **about}


def z85(content):
    letters = (
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    )
    text = ""
    for start in range(0, len(content), 4):
        value = int.from_bytes(content[start : start + 4], "big")
        text += "".join(letters[value // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def write_commit(folder, version, *actions):
    lines = "".join(f"{json.dumps(action)}\n" for action in actions)
    (folder / "_delta_log" / f"{version:020}.json").write_text(lines, encoding="utf-8")


def actions(folder, version):
    text = (folder / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.sample(1)
@pytest.mark.parametrize("storage", ["i", "u", "p"])
def test_rows_of_deletion_vectors_are_left_out(folder, read, storage):
    write_deltalake(folder, pa.table({"id": range(100_000)}))
    write_deltalake(folder, pa.table({"id": range(100_000, 100_010)}), mode="append")
    (added,) = [each["add"] for each in actions(folder, 0) if "add" in each]
    deleted = [0, 7, *range(50_000, 60_000), 99_999]
    vector = vector_action(deleted, folder, storage)
    removed = {"path": added["path"], "deletionTimestamp": 0, "dataChange": True}
    write_commit(folder, 2, {"remove": removed}, {"add": {**added, "deletionVector": vector}})
    expected = sorted(set(range(100_010)) - set(deleted))
    assert sorted(read()["id"].to_pylist()) == expected
    assert sorted(read(1)["id"].to_pylist()) == list(range(100_010))
    # a second vector replaces the first one
    write_commit(
        folder,
        3,
        {"remove": {**removed, "deletionVector": vector}},
        {"add": {**added, "deletionVector": vector_action([5], folder, "i")}},
    )
    assert len(read()) == 100_009
    DeltaTable(folder, version=1)  # it stays a table


def test_a_preview_reads_as_many_files_as_it_needs(folder, objects, read):
    for number in range(5):
        write_deltalake(folder, rows(number), mode="append")
    assert read(max_rows=2).num_rows == 2
    assert sum(path.endswith(".parquet") for path in objects.opened) == 2


def test_versions_have_their_times_and_operations(folder, objects):
    write_deltalake(folder, rows(1))
    DeltaTable(folder).delete("id = 1")
    history = DeltaTable(folder).history()
    found = read_delta_versions(objects, PLACE, 10)
    assert [(each.version, each.time, each.operation) for each in found] == [
        (each["version"], each["timestamp"], each["operation"]) for each in history
    ]
    assert read_delta_versions(objects, PLACE, 1) == found[:1]


def with_protocol(folder, **protocol):
    write_deltalake(folder, rows(1))
    write_commit(
        folder, 1, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **protocol}}
    )


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [
        ({"readerFeatures": ["columnMapping", "timeTravelToTheFuture"]}, "timeTravelToTheFuture"),
        ({"readerFeatures": ["catalogManaged"]}, "catalogManaged"),
        ({"minReaderVersion": 4}, "reader of version 4"),
        ({"minReaderVersion": None}, "no version for readers"),
    ],
)
def test_unknown_features_of_readers_are_refused_by_name(folder, read, protocol, reason):
    with_protocol(folder, **protocol)
    with pytest.raises(Invalid, match=reason):
        read()


def test_features_of_writers_do_not_matter(folder, read):
    with_protocol(folder, readerFeatures=["deletionVectors"], writerFeatures=["rowTracking"])
    assert read()["id"].to_pylist() == [1]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_are_read_by_their_stored_names_or_ids(folder, read, mode):
    stored = pa.schema(
        [
            pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": "1"}),
            pa.field(
                "col-2",
                pa.struct([pa.field("col-3", pa.int32(), metadata={"PARQUET:field_id": "3"})]),
                metadata={"PARQUET:field_id": "2"},
            ),
        ]
    )
    data = pa.Table.from_arrays(
        [pa.array([1, 2]), pa.array([{"col-3": 5}, None], stored.field(1).type)], schema=stored
    )
    write_deltalake(folder, data, partition_by=[])
    added = next(each["add"] for each in actions(folder, 0) if "add" in each)
    pa.parquet.write_table(data, folder / added["path"])

    def field(name, kind, number):
        about = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"col-{number}" if mode == "name" else f"x{number}",
        }
        return {"name": name, "type": kind, "nullable": True, "metadata": about}

    struct_type = {"type": "struct", "fields": [field("inner", "long", 3)]}
    partition = field("part", "date", 4)
    schema = {
        "type": "struct",
        "fields": [field("number", "long", 1), field("nested", struct_type, 2), partition],
    }
    meta_data = {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": ["part"],
        "configuration": {"delta.columnMapping.mode": mode},
    }
    key = partition["metadata"]["delta.columnMapping.physicalName"]
    write_commit(
        folder,
        0,
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": meta_data},
        {"add": {**added, "partitionValues": {key: "2024-02-29"}}},
    )
    day = dt.date(2024, 2, 29)
    assert read().to_pylist() == [
        {"number": 1, "nested": {"inner": 5}, "part": day},
        {"number": 2, "nested": None, "part": day},
    ]


def test_a_column_whose_type_is_not_read_hides_no_other(folder, objects):
    import duckdb

    from anabranch.tables.live_rows.relation import create_relation

    write_deltalake(folder, rows(1).select(["id"]))
    (meta_data,) = [each["metaData"] for each in actions(folder, 0) if "metaData" in each]
    schema = json.loads(meta_data["schemaString"])
    schema["fields"].append({"name": "v", "type": "variant", "nullable": True, "metadata": {}})
    write_commit(folder, 1, {"metaData": {**meta_data, "schemaString": json.dumps(schema)}})
    with duckdb.connect() as connection:
        create_relation(connection, "rows", read_delta_table(objects, PLACE), objects)
        assert connection.execute("SELECT id FROM rows").fetchall() == [(1,)]
        with pytest.raises(duckdb.Error, match="'v' has the type variant, which is not read"):
            connection.execute("SELECT * FROM rows").fetchall()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"path": "../../secret.parquet"}, "no path of an object"),
        ({"path": "s3://land/main/a.parquet"}, "outside of the repository sea"),
        ({"path": "file:///etc/passwd"}, "outside of the repository sea"),
        ({"path": "missing.parquet"}, "tables/t/missing.parquet, which does not exist"),
        ({"path": "_delta_log/00000000000000000000.json"}, "is not a Parquet file"),
        ({"deletionVector": {"storageType": "x", "pathOrInlineDv": ""}}, "unknown form"),
        ({"deletionVector": {"storageType": "p", "pathOrInlineDv": "/etc/hosts"}}, "outside of"),
        ({"deletionVector": {"storageType": "i", "pathOrInlineDv": "~~~~~"}}, "Z85"),
        ({"deletionVector": {"storageType": "i", "pathOrInlineDv": "00000"}}, "damaged"),
    ],
)
def test_hostile_actions_are_refused_by_name(folder, read, change, reason):
    write_deltalake(folder, rows(1))
    added = next(each["add"] for each in actions(folder, 0) if "add" in each)
    write_commit(folder, 1, {"add": {**added, **change}})
    with pytest.raises(Invalid, match=reason):
        read()


@pytest.mark.parametrize(
    "content", [b"{", b"[1]", b'{"add": 5}', b"[" * 100_000, b"\xff\xfe", b"7"]
)
def test_damaged_commits_are_refused(folder, read, content):
    write_deltalake(folder, rows(1))
    (folder / "_delta_log" / f"{1:020}.json").write_bytes(content)
    with pytest.raises(Invalid, match="version 1 of the table cannot be read"):
        read()


def test_a_folder_without_a_log_is_no_table(folder, read):
    folder.mkdir(parents=True)
    with pytest.raises(Invalid, match="there is no Delta table"):
        read()
    write_deltalake(folder, rows(1))
    with pytest.raises(Invalid, match="no version 5: the last one is 0"):
        read(5)
    shutil.rmtree(folder)


@pytest.mark.sample(1)
@pytest.mark.parametrize("columns", [["text", "day"], ["flag", "raw", "level"]], ids="-".join)
def test_many_partitions_are_read_by_one_select(folder, read, monkeypatch, columns):
    monkeypatch.setattr(relation, "MAX_SELECTS", 1)
    write_deltalake(folder, rows(*range(8)), partition_by=columns)
    write_deltalake(folder, rows(0, 1, 2), mode="append")
    assert_same(read, folder)
    added = next(each["add"] for each in actions(folder, 0) if "add" in each)
    removed = {"path": added["path"], "dataChange": True}
    vector = {"deletionVector": vector_action([0], folder, "i")}
    before = len(read())
    write_commit(folder, 2, {"remove": removed}, {"add": {**added, **vector}})
    assert len(read()) == before - 1
