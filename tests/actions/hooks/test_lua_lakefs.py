"""Lua's `lakefs` and `formats` against the REST API of a running server."""

import io
import json

import deltalake
import httpx2
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support.hooks.hook_runs import hook_context
from support.library_lake import LibraryLake

from anabranch.actions.hooks.lua.libraries import lakefs_client
from anabranch.actions.hooks.lua.libraries.registry import Libraries
from anabranch.actions.hooks.lua.sandbox import Sandbox
from anabranch.actions.hooks.registry import make_hook
from anabranch.errors import HookFailed

REPOSITORY = "lua-hooks"


@pytest.fixture(scope="module")
def api(server):
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as client:
        body = {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"}
        assert client.post("/repositories", json=body).status_code == 201
        for path, content in (("a.txt", b"A\xff"), ("b/c.txt", b"C"), ("b/d.txt", b"D")):
            put(client, path, content)
        commit(client)
        body = {"name": "apart", "source": "main"}  # for changes, as main is listed
        assert client.post(f"/repositories/{REPOSITORY}/branches", json=body).status_code == 201
        put(client, "new.txt", b"N")
        yield client


def put(client, path, content, branch="main"):
    place = f"/repositories/{REPOSITORY}/branches/{branch}/objects"
    assert client.post(place, params={"path": path}, content=content).status_code == 201


def commit(client):
    place = f"/repositories/{REPOSITORY}/branches/main/commits"
    assert client.post(place, json={"message": "files"}).status_code == 201


@pytest.fixture
def run(api):
    """Returns a function that runs a script and returns the lines that it prints."""

    def request(method, path, query, body):
        headers = {"Content-Type": "application/json"} if body else {}
        found = api.request(method, path, params=dict(query), content=body, headers=headers)
        return found.status_code, found.content

    def run(script, *, isolated=False):
        context = hook_context(LibraryLake(None, REPOSITORY, request))
        start = f"local lakefs, repo = require('lakefs'), '{REPOSITORY}'\n"
        if isolated:
            make_hook("lua", {"script": start + script, "timeout": 60}).run(context)
            return context.output.text().splitlines()
        written = []
        sandbox = Sandbox(written.append, Libraries(context).open, lambda: None)
        sandbox.run((start + script).encode(), "script")
        return "".join(written).splitlines()

    return run


def test_objects_are_listed_read_and_described(run):
    script = """
        local code, page = lakefs.list_objects(repo, "main", "", "", "/", 1)
        print(code, #page.results, page.results[1].path, page.pagination.has_more)
        code, page = lakefs.list_objects(repo, "main", page.pagination.next_offset, "", "/")
        print(code, page.results[1].path, page.results[1].path_type, page.results[2].size_bytes)
        code, page = lakefs.list_objects(repo, "main", "", "b/")
        print(#page.results, page.results[2].path)
        local code, content = lakefs.get_object(repo, "main", "a.txt")
        print(code, #content, content:byte(2))
        local code, stat = lakefs.stat_object(repo, "main", "a.txt")
        print(code, require("encoding/json").unmarshal(stat).path)
    """
    for isolated in (False, True):
        assert run(script, isolated=isolated) == [
            "200\t1\ta.txt\ttrue",
            "200\tb/\tcommon_prefix\t1",
            "2\tb/d.txt",
            "200\t2\t255",
            "200\ta.txt",
        ]


def test_an_object_that_is_too_large_is_not_read(run, monkeypatch):
    monkeypatch.setattr(lakefs_client, "MAX_OBJECT_BYTES", 1)
    with pytest.raises(HookFailed, match=r"a\.txt has more than 1 bytes"):
        run("lakefs.get_object(repo, 'main', 'a.txt')")


def test_differences_are_listed(run):
    script = """
        local code, page = lakefs.diff_branch(repo, "main")
        print(code, #page.results, page.results[1].path, page.results[1].type)
        code, page = lakefs.diff_refs(repo, "main~1", "main", "", "b/", "", 1)
        print(code, #page.results, page.results[1].path, page.pagination.has_more)
    """
    assert run(script) == ["200\t1\tnew.txt\tadded", "200\t1\tb/c.txt\ttrue"]


def test_tags_are_created_and_metadata_changed(run):
    script = """
        local code, tag = lakefs.create_tag(repo, "main", "v1")
        print(code, tag.id)
        code, tag = lakefs.create_tag(repo, "main", "v1")
        print(code, tag.message)
        print((lakefs.update_object_user_metadata(repo, "apart", "a.txt", {owner = "ada"})))
        local _, stat = lakefs.stat_object(repo, "apart", "a.txt")
        print(require("encoding/json").unmarshal(stat).metadata.owner)
    """
    assert run(script) == ["201\tv1", "409\ttag already exists: not unique", "204", "ada"]


def test_errors_of_the_server_are_statuses(run):
    assert run("print(lakefs.get_object(repo, 'main', 'missing'))")[0].startswith("404\t")
    assert run("print((lakefs.list_objects('nothing', 'main')))") == ["404"]
    assert run("print((lakefs.get_object(repo, '../../x', '/etc/passwd')))") == ["404"]


def test_the_log_of_a_delta_table_is_read(run, api, tmp_path):
    folder = tmp_path / "table"
    for number in range(3):
        table = pa.table({"id": [number], "day": ["mon"]})
        deltalake.write_deltalake(folder, table, mode="append", partition_by=["day"], name="t")
    for file in folder.rglob("*"):
        if file.is_file():
            put(api, f"t/{file.relative_to(folder)}", file.read_bytes(), "apart")
    script = """
        local client = require("formats").delta_client("key", "secret", "us-east-1")
        local log, meta = client.get_table(repo, "apart", "t")
        print(#log[0], #log[2], log[3])
        print(require("encoding/json").unmarshal(log[2][#log[2]]).add ~= nil)
        print(meta.name, meta.partition_columns[1], meta.id)
        print(meta.schema_string)
    """
    lines = run(script)
    delta = deltalake.DeltaTable(folder)
    names = [f"{version:020}.json" for version in (0, 2)]
    counts = [len((folder / "_delta_log" / name).read_text().splitlines()) for name in names]
    assert lines[0] == f"{counts[0]}\t{counts[1]}\tnil"
    assert lines[1] == "true"
    assert lines[2] == f"t\tday\t{delta.metadata().id}"
    assert json.loads(lines[3]) == json.loads(delta.schema().to_json())
    delta.create_checkpoint()
    for file in (folder / "_delta_log").iterdir():
        if "checkpoint" in file.name:
            put(api, f"checked/_delta_log/{file.name}", file.read_bytes(), "apart")
    checked = script.replace('"t"', '"checked"').replace("#log[0], #log[2], log[3]", "log[0]")
    checked = checked.replace(
        'print(require("encoding/json").unmarshal(log[2][#log[2]]).add ~= nil)', ""
    )
    assert run(checked)[1:] == lines[2:]


def test_checkpoints_of_several_files_and_with_sidecars_are_read(run, api, tmp_path):
    folder = tmp_path / "table"
    for number in range(2):
        deltalake.write_deltalake(folder, pa.table({"id": [number]}), mode="append")
    deltalake.DeltaTable(folder).create_checkpoint()
    rows = pq.read_table(folder / "_delta_log" / f"{1:020}.checkpoint.parquet")
    half = rows.num_rows // 2
    for number, part in enumerate((rows.slice(0, half), rows.slice(half)), start=1):
        name = f"{1:020}.checkpoint.{number:010}.{2:010}.parquet"
        put(api, f"parts/_delta_log/{name}", parquet(part), "apart")
    is_file = pc.is_valid(pc.struct_field(rows["add"], "path"))
    others = [
        json.dumps({kind: value for kind, value in row.items() if value is not None}, default=dict)
        for row in rows.filter(pc.invert(is_file)).to_pylist(maps_as_pydicts="strict")
    ]
    sidecar = json.dumps({"sidecar": {"path": "s.parquet", "sizeInBytes": 1}})
    name = f"{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    put(api, f"sidecars/_delta_log/{name}", "\n".join([*others, sidecar]).encode(), "apart")
    put(api, "sidecars/_delta_log/_sidecars/s.parquet", parquet(rows.filter(is_file)), "apart")
    script = """
        local client = require("formats").delta_client("key", "secret")
        local log, meta = client.get_table(repo, "apart", "PATH")
        local files = 0
        for _, text in ipairs(log[1]) do
            if require("encoding/json").unmarshal(text).add then files = files + 1 end
        end
        print(files, #log[1], meta.id)
    """
    expected = f"2\t{rows.num_rows}\t{deltalake.DeltaTable(folder).metadata().id}"
    for path in ("parts", "sidecars"):
        assert run(script.replace("PATH", path)) == [expected]


def parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_what_is_no_delta_table_is_an_error(run):
    with pytest.raises(HookFailed, match="no Delta Lake table at b"):
        run("require('formats').delta_client('k', 's').get_table(repo, 'main', 'b')")
