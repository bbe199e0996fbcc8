"""Tables of Delta Lake and Iceberg in queries, with the rights of their users."""

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pipelines.queries.conftest import ADMIN
from pipelines.queries.test_queries import reader
from support.formats.iceberg_tables import FolderCatalog, rows_table

from anabranch.errors import Denied, Invalid, NotFound
from anabranch.model.uri import LakeUri


def upload(lake, folder, prefix, branch="main"):
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = f"{prefix}/{path.relative_to(folder).as_posix()}"
            lake.objects.upload("sea", branch, name, [path.read_bytes()])


def delta_table(folder):
    """Writes a table with removed files, partitions and a name that is a pattern."""
    rows = pa.table({"n": [1, 2, 3, 4], "day": ["a*b", "a*b", "[c]", None]})
    write_deltalake(folder, rows, partition_by=["day"])
    DeltaTable(folder).delete("n = 2")
    write_deltalake(folder, pa.table({"n": [5], "day": ["[c]"]}), mode="append")


@pytest.fixture(scope="module", autouse=True)
def tables(lake, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    delta_table(folder / "delta")
    upload(lake, folder / "delta", "tables/d")
    (folder / "iceberg").mkdir()
    catalog = FolderCatalog(folder / "iceberg")
    catalog.create()
    catalog.load().append(rows_table({1: "mon", 2: "tue", 3: "tue"}))
    catalog.load().delete("id = 2")
    upload(lake, folder / "iceberg", "tables/i")
    lake.commits.commit("sea", "main", message="tables of many files", committer="ada")
    return folder


def test_live_rows_are_counted(query):
    delta = query("SELECT count(*), sum(n) FROM delta_table('lakefs://sea/main/tables/d')")
    assert [[int(value) for value in row] for row in delta["rows"]] == [[4, 13]]
    files = query("SELECT count(*) FROM 'lakefs://sea/main/tables/d/**/*.parquet'")
    assert files["rows"] == [[6]]  # the files have removed rows, too
    iceberg = query("FROM iceberg_table('lakefs://sea/main/tables/i/') ORDER BY id")
    assert iceberg["rows"] == [[1, "mon"], [3, "tue"]]
    assert [column["name"] for column in iceberg["columns"]] == ["id", "day"]


def test_tables_are_joined_and_filtered(query):
    sql = """
        WITH d AS (FROM delta_table('lakefs://sea/main/tables/d'))
        SELECT d.n, i.day FROM d JOIN iceberg_table('lakefs://sea/main/tables/i') i ON i.id = d.n
        JOIN delta_table('lakefs://sea/main/tables/d') other USING (n)
        WHERE d.day IN ('a*b', '[c]') ORDER BY n
    """
    assert query(sql)["rows"] == [[1, "mon"], [3, "tue"]]


def test_a_filter_on_a_partition_skips_its_files(query):
    plan = query(
        "EXPLAIN SELECT n FROM delta_table('lakefs://sea/main/tables/d') WHERE day = '[c]'"
    )["rows"][0][1]
    assert plan.count("Function:") == 1


def test_earlier_versions_are_read(query, tables):
    for version, count in ((0, 4), (1, 3), (2, 4)):
        sql = f"SELECT count(*) FROM delta_table('lakefs://sea/main/tables/d', {version})"
        assert query(sql)["rows"] == [[count]]
    first = FolderCatalog(tables / "iceberg").load().snapshots()[0].snapshot_id
    sql = f"SELECT count(*) FROM iceberg_table('lakefs://sea/main/tables/i', {first})"
    assert query(sql)["rows"] == [[3]]
    sql = "SELECT count(*) FROM iceberg_table('lakefs://sea/main/tables/i', snapshot := 'main')"
    assert query(sql)["rows"] == [[2]]


def test_a_table_is_read_at_the_reference_from_which_its_metadata_are(lake, query, tmp_path):
    """Spark writes addresses with the branch on which it wrote."""
    write_deltalake(tmp_path, pa.table({"n": [1, 2]}))
    commit = tmp_path / "_delta_log" / f"{0:020}.json"
    name = next(tmp_path.glob("*.parquet")).name
    address = f"s3a://sea/main/tables/moved/{name}"
    commit.write_text(commit.read_text().replace(f'"path":"{name}"', f'"path":"{address}"'))
    lake.branches.create("sea", "written", "main")
    upload(lake, tmp_path, "tables/moved", "written")  # it is not on main
    sql = "SELECT sum(n) FROM delta_table('lakefs://sea/written/tables/moved')"
    assert [int(value) for value in query(sql)["rows"][0]] == [3]


@pytest.mark.parametrize(
    ("paths", "lists", "action"),
    [
        (["tables/d/_delta_log/*"], True, "fs:ReadObject"),
        (["tables/d/*"], False, "fs:ListObjects"),
    ],
)
def test_every_file_is_read_with_the_rights_of_the_user(query, paths, lists, action):
    sql = "SELECT count(n) FROM delta_table('lakefs://sea/main/tables/d')"
    assert query(sql, actor=reader("tables/d/*"))["rows"] == [[4]]
    with pytest.raises(Denied) as caught:
        query(sql, actor=reader(*paths, lists=lists))
    assert action in str(caught.value) or caught.value.kind == "insufficient_permissions"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("address", "error", "reason"),
    [
        ("secret/a.parquet", Denied, "insufficient permissions"),
        ("s3://sea/main/secret/a.parquet", Denied, "insufficient permissions"),
        ("lakefs://land/main/a.parquet", Invalid, "outside of the repository sea"),
        ("../../secret/a.parquet", Invalid, "no path of an object"),
    ],
)
def test_metadata_do_not_widen_the_rights_of_the_user(
    lake, query, tmp_path, address, error, reason
):
    write_deltalake(tmp_path, pa.table({"n": [1]}))
    added = {"path": address, "size": 1, "partitionValues": {}, "modificationTime": 0}
    line = json.dumps({"add": {**added, "dataChange": True}})
    commit = tmp_path / "_delta_log" / f"{1:020}.json"
    commit.write_text(line)
    lake.objects.upload("sea", "main", "secret/a.parquet", [b"x"])
    prefix = f"tables/hostile-{len(address)}"
    upload(lake, tmp_path, prefix)
    if address.startswith("secret"):  # a path in the table's folder
        commit.write_text(line.replace("secret/", "s3a://sea/main/secret/"))
        upload(lake, tmp_path, prefix)
    with pytest.raises(error, match=reason):
        query(
            f"SELECT count(*) FROM delta_table('lakefs://sea/main/{prefix}')",
            actor=reader(f"{prefix}/*"),
        )


def test_what_is_no_table_is_named(query):
    with pytest.raises(Invalid, match="there is no Delta table"):
        query("FROM delta_table('lakefs://sea/main/flights')")
    with pytest.raises(Invalid, match="there is no Iceberg table"):
        query("FROM iceberg_table('lakefs://sea/main/tables/d')")
    with pytest.raises(NotFound):
        query("FROM delta_table('lakefs://sea/nowhere/tables/d')")
    with pytest.raises(Invalid, match="is no table"):
        query("FROM delta_table('lakefs://sea')")
    with pytest.raises(Invalid, match="the version 'x' is no number"):
        query("FROM delta_table('lakefs://sea/main/tables/d', 'x')")


def test_a_query_reads_a_branch_as_it_was_when_it_began(lake, query, monkeypatch):
    from anabranch.pipelines.queries.readable_objects import ReadableObjects

    lake.branches.create("sea", "moving", "main")
    listed = ReadableObjects.list
    moved = []

    def move_after_listing(self, address):
        found = listed(self, address)
        if not moved:
            lake.objects.delete("sea", "moving", f"tables/d/_delta_log/{0:020}.json")
            moved.append(True)
            lake.commits.commit("sea", "moving", message="removed", committer="ada")
        return found

    monkeypatch.setattr(ReadableObjects, "list", move_after_listing)
    sql = "SELECT count(*) FROM delta_table('lakefs://sea/moving/tables/d')"
    assert query(sql)["rows"] == [[4]]
    assert moved
    with pytest.raises(Invalid, match="does not have version 0"):
        query(sql)


def test_a_table_is_shown_with_its_versions_and_partitions(queries, tables):
    uri = LakeUri("sea", "main", "tables/d/")
    shown = queries.preview_table(ADMIN, uri, version=None, max_rows=2)
    assert (shown["format"], shown["version"], shown["files"]) == ("delta", "2", 4)
    assert [(each["name"], each["type"], each["is_partition"]) for each in shown["schema"]] == [
        ("n", "long", False),
        ("day", "string", True),
    ]
    assert [each["operation"] for each in shown["versions"]] == ["WRITE", "DELETE", "WRITE"]
    partitions = {
        each["values"]["day"]: (each["files"], each["rows"]) for each in shown["partitions"]
    }
    assert partitions == {"a*b": (1, 1), "[c]": (2, 2), None: (1, 1)}
    assert (len(shown["rows"]), shown["has_more"], shown["row_count"]) == (2, True, 4)
    first = queries.preview_table(ADMIN, uri, version=0, max_rows=10)
    assert sorted(row[0] for row in first["rows"]) == [1, 2, 3, 4]
    iceberg = queries.preview_table(
        ADMIN, LakeUri("sea", "main", "tables/i"), version=None, max_rows=9
    )
    snapshots = FolderCatalog(tables / "iceberg").load().snapshots()
    assert [int(each["version"]) for each in iceberg["versions"]] == [
        each.snapshot_id for each in reversed(snapshots)
    ]
    assert sorted(iceberg["rows"]) == [[1, "mon"], [3, "tue"]]
    with pytest.raises(Invalid, match="holds no table") as caught:
        queries.preview_table(ADMIN, LakeUri("sea", "main", "flights"), version=None, max_rows=9)
    assert caught.value.kind == "no_table"
    # what the user may not read is not there
    with pytest.raises(Invalid, match="holds no table"):
        queries.preview_table(reader("other/*"), uri, version=None, max_rows=9)
