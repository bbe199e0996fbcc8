"""The catalog exporters of Lua against a running server, and moto's S3 and Glue."""

import json
from urllib.parse import unquote

import boto3
import deltalake
import pyarrow as pa
import pytest

from anabranch.errors import HookFailed

from .conftest import KEYS, REPOSITORY

HIVE = """
name: animals
type: hive
path: tables/animals
partition_columns: [kind, year]
schema:
  type: struct
  fields:
    - {name: weight, type: integer, nullable: true, metadata: {}}
    - {name: name, type: string, nullable: false, metadata: {comment: own}}
    - {name: year, type: integer}
    - {name: kind, type: string}
"""


def stored(s3, prefix=""):
    listed = s3.list_objects_v2(Bucket="exports", Prefix=prefix).get("Contents", [])
    return {
        each["Key"]: s3.get_object(Bucket="exports", Key=each["Key"])["Body"].read()
        for each in listed
    }


def addresses(api, reference, prefix):
    found = api.get(
        f"/repositories/{REPOSITORY}/refs/{reference}/objects/ls", params={"prefix": prefix}
    )
    return {each["path"]: each["physical_address"] for each in found.json()["results"]}


@pytest.mark.sample(1)
@pytest.mark.parametrize("page_size", [1, 2, 1000])
def test_symlinks_list_the_objects_of_each_partition(run, commit, api, s3, page_size):
    base = "tables/animals"
    commit_id = commit(
        {
            "_lakefs_tables/animals.yaml": HIVE.encode(),
            f"{base}/kind=a b/year=1/1.parquet": b"1",
            f"{base}/kind=a b/year=1/2.parquet": b"2",
            f"{base}/kind=a b/year=1/_SUCCESS": b"",
            f"{base}/kind=a b/year=2/1.parquet": b"3",
            f"{base}/kind=c+/year=1/1.parquet": b"4",
            f"{base}/stray.parquet": b"5",
            f"{base}_other/kind=a/year=1/1.parquet": b"6",
            "unrelated": str(page_size).encode(),
        }
    )
    found = run(
        """
        local exporter = require("lakefs/catalogexport/symlink_exporter")
        local options = {page_size = args.page_size}
        local result = exporter.export_s3(s3, "_lakefs_tables/animals.yaml", action, options)
        print(result.location.bucket, result.location.key)
        """,
        commit_id,
        page_size=page_size,
    )
    prefix = f"base/_lakefs/exported/main/{commit_id[:6]}/"
    assert found == f"exports\t{prefix}\n"
    at = addresses(api, commit_id, base)
    assert stored(s3, prefix) == {
        f"{prefix}animals/kind=a b/year=1/symlink.txt": (
            f"{at[f'{base}/kind=a b/year=1/1.parquet']}\n"
            f"{at[f'{base}/kind=a b/year=1/2.parquet']}\n"
        ).encode(),
        f"{prefix}animals/kind=a b/year=2/symlink.txt": (
            f"{at[f'{base}/kind=a b/year=2/1.parquet']}\n".encode()
        ),
        f"{prefix}animals/kind=c+/year=1/symlink.txt": (
            f"{at[f'{base}/kind=c+/year=1/1.parquet']}\n".encode()
        ),
    }


def test_a_table_without_partitions_has_one_symlink_file(run, commit, api):
    commit_id = commit(
        {
            "_lakefs_tables/flat.yaml": b"{name: flat, type: hive, path: tables/flat}",
            "tables/flat/1": b"1",
            "tables/flat/2": b"2",
        }
    )
    found = run(
        """
        local written = {}
        local options = {
          export_base_uri = "s3://other/x",
          writer = function(bucket, key, content) print(bucket, key) print(content) end,
        }
        local exporter = require("lakefs/catalogexport/symlink_exporter")
        exporter.export_s3(nil, "_lakefs_tables/flat.yaml", action, options)
        """,
        commit_id,
    )
    lines = addresses(api, commit_id, "tables/flat/").values()
    key = f"x/_lakefs/exported/main/{commit_id[:6]}/flat/symlink.txt"
    assert found == f"other\t{key}\n" + "".join(f"{line}\n" for line in lines) + "\n"


def test_a_table_is_created_in_glue_and_updated_by_a_second_run(run, commit, aws):
    commit_id = commit({"_lakefs_tables/animals.yaml": HIVE.encode(), "glue": b"1"})
    script = """
        pcall(glue.create_database, "zoo")
        local input = {StorageDescriptor = {InputFormat = "org.example.Symlink"}, Parameters = {}}
        local exporter = require("lakefs/catalogexport/glue_exporter")
        exporter.export_glue(glue, "zoo", "_lakefs_tables/animals.yaml", input, action)
        print(exporter.get_full_table_name({name = "animals"}, action))
    """
    name = run(script, commit_id).strip()
    assert name == f"animals_{REPOSITORY}_main_{commit_id[:6]}"
    assert run(script, commit_id).strip() == name
    client = boto3.client("glue", endpoint_url=aws, **KEYS)
    table = client.get_table(DatabaseName="zoo", Name=name)["Table"]
    assert table["TableType"] == "EXTERNAL_TABLE"
    assert [(each["Name"], each["Type"]) for each in table["PartitionKeys"]] == [
        ("kind", "string"),
        ("year", "int"),
    ]
    storage = table["StorageDescriptor"]
    assert [(each["Name"], each["Type"]) for each in storage["Columns"]] == [
        ("weight", "int"),
        ("name", "string"),
    ]
    assert storage["InputFormat"] == "org.example.Symlink"
    prefix = f"s3://exports/base/_lakefs/exported/main/{commit_id[:6]}"
    assert storage["Location"] == f"{prefix}/animals"


def delta_files(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_a_delta_log_names_its_files_by_their_addresses(run, commit, api, s3, tmp_path):
    folder = tmp_path / "table"
    for number in range(3):
        table = pa.table({"id": [number, number + 10], "kind": ["a b+%", "c"]})
        deltalake.write_deltalake(folder, table, mode="append", partition_by=["kind"])
    delta = deltalake.DeltaTable(folder)
    delta.delete("id = 0")
    files = {f"tables/d/{path}": content for path, content in delta_files(folder).items()}
    files["_lakefs_tables/d.yaml"] = b"{name: d, type: delta, path: tables/d, catalog: cat}"
    commit_id = commit(files)
    script = """
        local exporter = require("lakefs/catalogexport/delta_exporter")
        local client = require("formats").delta_client("key", "secret")
        local names = {"d"}
        local result = exporter.export_delta_log(
          action, names, s3.put_object, client, "_lakefs_tables")
        print(result.d.path, result.d.metadata.id)
        print(#exporter.changed_table_defs(names, "_lakefs_tables", action.repository_id,
          action.commit_id .. "~1", action.commit_id))
        print(#exporter.changed_table_defs(names, "_lakefs_tables", action.repository_id,
          action.commit_id, action.commit_id))
    """
    prefix = f"base/_lakefs/exported/main/{commit_id[:6]}/d"
    lines = run(script, commit_id).splitlines()
    assert lines == [f"s3://exports/{prefix}\t{delta.metadata().id}", "1", "0"]
    exported = stored(s3, prefix)
    assert sorted(exported) == [f"{prefix}/_delta_log/{number:020}.json" for number in range(4)]
    live = live_files(exported.values())
    at = addresses(api, commit_id, "tables/d/")
    expected = {
        at[f"tables/d/{unquote(path)}"]
        for path in delta.get_add_actions(flatten=True).column("path").to_pylist()
    }
    assert {unquote(path) for path in live} == expected
    # and a log that begins with a checkpoint
    delta.create_checkpoint()
    delta = deltalake.DeltaTable(folder)
    deltalake.write_deltalake(delta, pa.table({"id": [7], "kind": ["c"]}), mode="append")
    checked = delta_files(folder)
    for version in range(3):
        del checked[f"_delta_log/{version:020}.json"]
    files = {f"tables/e/{path}": content for path, content in checked.items()}
    files["_lakefs_tables/e.yaml"] = b"{name: e, type: delta, path: tables/e, catalog: cat}"
    commit_id = commit(files)
    run(script.replace('{"d"}', '{"e"}').replace("result.d", "result.e"), commit_id)
    exported = stored(s3, f"base/_lakefs/exported/main/{commit_id[:6]}/e")
    at = addresses(api, commit_id, "tables/e/")
    current = deltalake.DeltaTable(folder).get_add_actions(flatten=True).column("path")
    assert {unquote(path) for path in live_files(exported.values())} == {
        at[f"tables/e/{unquote(path)}"] for path in current.to_pylist()
    }


def live_files(versions):
    """Returns the files that a log adds and does not remove."""
    live = set()
    for line in b"".join(versions).splitlines():
        action = json.loads(line)
        if "add" in action:
            live.add(action["add"]["path"])
        if "remove" in action:
            live.discard(action["remove"]["path"])
    return live


def test_a_delta_table_whose_files_are_missing_is_not_exported(run, commit, s3, tmp_path):
    deltalake.write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    files = {
        f"tables/m/{path}": content
        for path, content in delta_files(tmp_path / "t").items()
        if "_delta_log" in path
    }
    files["_lakefs_tables/m.yaml"] = b"{name: m, type: delta, path: tables/m}"
    commit_id = commit(files)
    with pytest.raises(HookFailed, match="files of the table m are missing: part-"):
        run(
            """
            local client = require("formats").delta_client("key", "secret")
            require("lakefs/catalogexport/delta_exporter").export_delta_log(
              action, {"m"}, s3.put_object, client, "_lakefs_tables")
            """,
            commit_id,
        )
    assert stored(s3, f"base/_lakefs/exported/main/{commit_id[:6]}") == {}


def test_objects_of_s3(run, s3):
    found = run(
        """
        print(s3.get_object("exports", "objects/missing"))
        for i = 1, 3 do s3.put_object("exports", "objects/ä " .. i, "\\xff" .. i) end
        s3.put_object("exports", "objects/sub/x", "")
        local content, exists = s3.get_object("exports", "objects/ä 2")
        print(#content, content:byte(1), exists)
        local page = s3.list_objects("exports", "objects/")
        for _, each in ipairs(page.results) do print(each.key, each.type, each.size) end
        print(page.is_truncated)
        s3.delete_object("exports", "objects/ä 1")
        print(s3.get_object("exports", "objects/ä 1"))
        s3.delete_recursive("exports", "objects/ä")
        """,
        "",
    )
    assert found.splitlines() == [
        "\tfalse",
        "2\t255\ttrue",
        "objects/ä 3\tobject\t2",
        "objects/ä 2\tobject\t2",
        "objects/ä 1\tobject\t2",
        "objects/sub/\tprefix\tnil",
        "false",
        "\tfalse",
    ]
    assert list(stored(s3, "objects/")) == ["objects/sub/x"]
    with pytest.raises(HookFailed, match=r"HTTP 404 .*NoSuchBucket"):
        run('s3.put_object("no-bucket", "a", "b")', "")


def test_tables_of_glue(run):
    assert run(
        """
        glue.create_database("own")
        print(glue.get_table("own", "t"))
        glue.create_table("own", json.marshal({Name = "t", Parameters = {a = "1"}}))
        glue.update_table("own", json.marshal({Name = "t", Parameters = {a = "2"}}))
        local found, exists = glue.get_table("own", "t")
        print(found.Table.Parameters.a, exists)
        glue.delete_table("own", "t")
        print(select(2, glue.get_table("own", "t")))
        glue.delete_database("own")
        """,
        "",
    ).splitlines() == ["\tfalse", "2\ttrue", "false"]
    with pytest.raises(HookFailed, match=r"Glue DeleteTable: HTTP 400 .*EntityNotFoundException"):
        run('glue.delete_table("none", "t")', "")
