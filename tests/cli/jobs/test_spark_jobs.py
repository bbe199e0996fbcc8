"""Jobs of the command line with three engines: equal trees, and summaries with the same keys."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from support.eventually import eventually
from support.stored_files import stored_files
from support.wall_clock import wait_a_second

import anabranch
from anabranch.spark.__main__ import main
from anabranch.testing.server import running_server

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def raw(tmp_path):
    """A folder with files."""
    folder = tmp_path / "raw"
    for number in range(30):
        path = folder / f"day={number % 3}" / f"part é {number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * number)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark's precision is microseconds
    return folder


@pytest.fixture
def data(tmp_path, raw, run, monkeypatch):  # noqa: ARG001  sets its environment
    """The data folder of a running server that may import from the folder `raw`."""
    settings = {
        "ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(raw),
    }
    data = tmp_path / "lake"
    with running_server(data, env=settings) as server:
        settings["ANABRANCH_SERVER"] = server.url
        settings["ANABRANCH_ACCESS_KEY_ID"] = server.access_key_id
        settings["ANABRANCH_SECRET_ACCESS_KEY"] = server.secret_access_key
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        yield data


def write_listing(data, path):
    """Writes a listing of the objects on main, in reverse order."""
    with anabranch.open(data) as lake:
        repository = lake.core.repositories.get("sea")
        tree = lake.core.trees.open(repository, lake.commits.get("sea", "main").metarange_id)
        table = pa.RecordBatchReader.from_stream(tree.scan()).read_all()
    pq.write_table(table.take(pa.array(range(len(table)))[::-1]), path)
    return path


@pytest.mark.usefixtures("spark")  # jobs use its session
@pytest.mark.slow
def test_three_engines_import_equal_trees(run, data, raw, tmp_path):
    run.ok("repo", "create", "lakefs://sea", "local://sea")
    source = ("--from", f"local://{raw}/")
    first = run.ok("import", *source, "--to", "lakefs://sea/main/x", "--summary", "-").json
    listing = write_listing(data, tmp_path / "l.parquet")
    summaries = {"server": first}
    inner = ("--data", data, "--summary", "-", "--no-progress")
    for number, (engine, arguments, folder) in enumerate(
        (
            ("local", source, "/x"),
            ("local", ("--listing", listing), ""),
            ("spark", ("--listing", listing), ""),
        )
    ):
        branch = f"lakefs://sea/b{number}"
        run.ok("branch", "create", branch, "--source", "lakefs://sea/main~1")
        to = f"{branch}{folder}"
        summaries[branch] = run.ok(
            "import", *arguments, "--to", to, "--engine", engine, *inner
        ).json
    assert {name: each["result"]["objects"] for name, each in summaries.items()} == dict.fromkeys(
        summaries, 30
    )
    trees = {each["result"]["metarange_id"] for each in summaries.values()}
    assert trees == {first["result"]["metarange_id"]}
    assert len({tuple(each) for each in summaries.values()}) == 1
    assert len({tuple(sorted(each["result"])) for each in summaries.values()}) == 1
    assert [each["engine"] for each in summaries.values()] == ["server", "local", "local", "spark"]


@pytest.mark.usefixtures("spark")
@pytest.mark.slow
def test_both_engines_find_the_same_garbage(run, data):
    with anabranch.open(data) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"old"])
        lake.objects.upload("sea", "main", "a", [b"kept"])
    for file in stored_files(data / "block"):
        os.utime(file, (1_700_000_000,) * 2)
    wait_a_second()
    arguments = ("gc", "lakefs://sea", "--data", data, "--grace=0", "--window=0", "--summary", "-")
    results = {}
    for engine in ("local", "spark"):
        ran = run.ok(*arguments, "--engine", engine).json
        assert (ran["job"], ran["engine"], ran["state"]) == ("gc", engine, "done")
        results[engine] = ran["result"]
    assert results["local"].keys() == results["spark"].keys()
    compared = ("listed", "candidates", "due", "young", "missing")
    assert [results["local"][name] for name in compared] == [
        results["spark"][name] for name in compared
    ]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_missing_objects_fail_the_command(run, data, request, engine):
    if engine == "spark":
        request.getfixturevalue("spark")  # the job uses its session
    lost = f"data/{'c' * 20}/{'c' * 20}"  # an address of 2022
    with anabranch.open(data) as lake:
        lake.repositories.create("sea", "local://sea")
        stage = {"address": f"local://sea/{lost}", "checksum": "0" * 32, "size": 1}
        lake.staging.stage("sea", "main", "lost/a", **stage)
        lake.commits.commit("sea", "main", message="m", committer="c")
        lake.staging.stage("sea", "main", "lost/b", **stage)
    ran = run("gc", "lakefs://sea", "--data", data, "--check-only", "--engine", engine)
    assert ran.code == 1
    assert f"Missing: {lost}, at lakefs://sea: lost/b, needed by staged on main\n" in ran.out
    assert f"Missing: {lost}, at lakefs://sea: lost/a, needed by branch main, commit" in ran.out


@pytest.mark.usefixtures("spark")
def test_job_of_spark_submit_imports_a_listing(run, data, raw, tmp_path, capsys):
    run.ok("repo", "create", "lakefs://sea", "local://sea")
    address = f"local://{raw}/day=1/part é 1"
    rows = {
        "path": ["a", "b", "c"],
        "physical_address": [address, "", "s3://x/a"],
        "size": [1, 2, 3],
    }
    pa.csv.write_csv(pa.table(rows), tmp_path / "l.csv")
    arguments = ["import", "--listing", str(tmp_path / "l.csv"), "--to", "lakefs://sea/main"]
    arguments += ["--data", str(data), "--summary", str(tmp_path / "s.json")]
    assert main([*arguments, "--on-invalid=skip"]) == 0
    summary = json.loads((tmp_path / "s.json").read_text())
    assert (summary["engine"], summary["state"]) == ("spark", "done")
    result = summary["result"]
    skipped = {"no physical address": 1, "an address of another store": 1}
    assert (result["objects"], result["skipped"]) == (1, skipped)
    assert "Imported 1 object" in capsys.readouterr().out


@pytest.mark.usefixtures("spark")
@pytest.mark.slow  # tests/spark/test_exports.py
def test_both_engines_export_the_same_files(run, data, tmp_path):
    with anabranch.open(data) as lake:
        lake.repositories.create("sea", "local://sea")
        for path in ("a", "b/c", "b/d"):
            lake.objects.upload("sea", "main", path, [path.encode()])
        lake.commits.commit("sea", "main", message="m", committer="me")
    summaries = {}
    for engine in ("local", "spark"):
        out = tmp_path / engine
        arguments = ("export", "lakefs://sea/main", out, "--data", data, "--engine", engine)
        summaries[engine] = run.ok(*arguments, "--summary", "-").json
        assert (out / "b/d").read_text() == "b/d"
    results = [each["result"] for each in summaries.values()]
    assert results[0].keys() == results[1].keys()
    assert [each["stored"] for each in results] == [3, 3]
    assert [each["engine"] for each in summaries.values()] == ["local", "spark"]


ACTION = """
name: tickets
on:
  pre-commit: {branches: [main]}
  post-commit: {branches: [main]}
hooks:
  - {id: ticket, type: check, properties: {commit_metadata: {ticket: "FL-*"}}}
"""


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("engine", "source"),
    [
        ("local", "from"),
        ("local", "listing"),
        ("spark", "listing"),
        pytest.param("spark", "from", marks=pytest.mark.slow),
    ],
)
@pytest.mark.sample(1)
def test_hooks_examine_an_import(run, data, raw, tmp_path, engine, source):
    with anabranch.open(data) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "_lakefs_actions/tickets.yaml", [ACTION.encode()])
        lake.commits.commit("sea", "main", message="m", committer="c", metadata={"ticket": "FL-1"})
    address = f"local://{raw}/day=1/part é 1"
    rows = {"path": ["a"], "physical_address": [address], "size": [1]}
    pa.csv.write_csv(pa.table(rows), tmp_path / "l.csv")
    given = {"from": f"local://{raw}/", "listing": tmp_path / "l.csv"}[source]
    arguments = ("import", f"--{source}", given, "--to", "lakefs://sea/main/x", "--data", data)
    arguments += ("--engine", engine)
    before = run.ok("branch", "list", "lakefs://sea").out
    refused = run(*arguments)
    assert refused.code != 0
    assert "pre-commit hook aborted, run id" in refused.err
    assert "ticket" in refused.err
    assert run.ok("branch", "list", "lakefs://sea").out == before
    run.ok(*arguments, "--meta", "ticket=FL-2")
    assert run.ok("branch", "list", "lakefs://sea").out != before

    def hooks_after_it_have_run():
        return run.ok("actions", "list", "lakefs://sea").out.count("post-commit") == 2

    eventually(hooks_after_it_have_run)
