"""`import` in this process: listings, inventories and prefixes, and the summary for programs."""

from __future__ import annotations

import json
import os
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch
from anabranch.pipelines.imports.merge_sorted_runs import decode_records
from anabranch.server.config.loader import load_settings
from anabranch.server.stores.open_stores import open_stores

COLUMNS = ("path", "physical_address", "size")
KEYS = {"job", "engine", "why", "state", "error", "started_at", "ended_at", "result"}


@pytest.fixture
def raw(tmp_path):
    """A folder with two files."""
    folder = tmp_path / "raw"
    (folder / "deep").mkdir(parents=True)
    (folder / "a").write_text("a")
    (folder / "deep/b").write_text("bb")
    return folder


@pytest.fixture
def folder(tmp_path, raw, run, monkeypatch):  # noqa: ARG001  its environment
    """A lake that may import from that folder."""
    monkeypatch.setenv("ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED", "true")
    monkeypatch.setenv("ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES", str(raw))
    data = tmp_path / "data"
    with anabranch.open(data) as lake:
        lake.repositories.create("sea", "local://sea")
    return data


def write(path, *rows):
    pq.write_table(pa.table(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))), path)
    return path


def paths(folder):
    with anabranch.open(folder) as lake:
        repository = lake.core.repositories.get("sea")
        tree = lake.core.trees.open(repository, lake.commits.get("sea", "main").metarange_id)
        return [key.decode() for key, _ in decode_records(tree)]


def test_a_listing(run, folder, raw, tmp_path):
    listing = write(
        tmp_path / "l.parquet", ("b", f"local://{raw}/deep/b", 2), ("a", f"local://{raw}/a", 1)
    )
    words = ("import", "--listing", listing, "--data", folder, "--to", "lakefs://sea/main/x")
    ran = run.ok(*words, "-m", "In", "--meta", "k=v", "--committer", "me")
    assert "engine: local, for 0 MiB in about 0 s, and in 20 s on Spark with" in ran.err
    assert "reading the listing" in ran.err
    assert ran.lines[0] == "Imported 2 objects to lakefs://sea/main/x"
    assert [line.split(":")[0] for line in ran.lines[1:4]] == ["Commit", "Message", "Committer"]
    assert paths(folder) == ["x/a", "x/b"]
    with anabranch.open(folder) as lake:
        head = lake.commits.get("sea", "main")
        assert (head.message, head.committer, head.metadata["k"]) == ("In", "me", "v")
    summary = run.ok(*words, "--engine", "local", "--json", "--no-progress").json
    assert (summary["objects"], summary["skipped"], summary["destination"]) == (2, {}, "x")


def test_a_summary_is_written_however_it_ends(run, folder, raw, tmp_path):
    listing = write(
        tmp_path / "l.parquet", ("a", f"local://{raw}/a", 1), ("bad", f"local://{raw}/b", -1)
    )
    words = ("import", "--listing", listing, "--data", folder, "--to", "lakefs://sea/main")
    file = tmp_path / "summary.json"
    before = time.time()
    ran = run(*words, "--summary", file)
    assert (ran.code, "1 row of the listing is invalid" in ran.err) == (1, True)
    summary = json.loads(file.read_text())
    assert summary.keys() == KEYS
    assert (summary["state"], summary["result"]) == ("failed", None)
    assert summary["error"]["kind"] == "unfit_rows"
    assert before <= summary["started_at"] <= summary["ended_at"] <= time.time()
    left = tmp_path / "left-out.csv"
    ran = run.ok(*words, "--summary", "-", "--on-invalid", "skip", "--rejected-rows", left)
    assert "bad" in left.read_text()
    assert ran.json.keys() == KEYS
    assert (ran.json["job"], ran.json["engine"], ran.json["state"]) == ("import", "local", "done")
    result = ran.json["result"]
    assert result["skipped"] == {"a negative size": 1}
    assert result["shown"] == [{"path": "bad", "reason": "a negative size"}]
    assert (result["phases"], result["tasks"]) == ({}, {})
    with anabranch.open(folder) as lake:
        head = lake.commits.get("sea", "main")
    assert (result["commit"], result["metarange_id"]) == (head.id, head.metarange_id)
    assert "skipped: 1 with a negative size" in run.ok(*words, "--on-invalid", "skip").err


def test_a_prefix_and_an_object(run, folder, raw):
    words = ("import", "--engine", "local", "--data", folder)
    ran = run.ok(*words, "--from", f"local://{raw}/", "--to", "lakefs://sea/main/x")
    assert ran.lines[0] == "Imported 2 objects to lakefs://sea/main/x"
    run.ok(*words, "--object", "--from", f"local://{raw}/a", "--to", "lakefs://sea/main/one")
    assert paths(folder) == ["one", "x/a", "x/deep/b"]
    ran = run(*words, "--from", f"local://{raw}/none/", "--to", "lakefs://sea/main/x")
    assert (ran.code, "there is no such folder" in ran.err) == (1, True)


@pytest.fixture
def bucket(emulated_s3, monkeypatch):
    """A bucket of the store that the settings name."""
    for name, value in emulated_s3.settings.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{uuid.uuid4()}"
    emulated_s3.make_bucket(name)
    return name


def test_rows_are_compared_with_the_store(run, folder, raw, tmp_path):
    listing = write(
        tmp_path / "l.parquet",
        ("a", f"local://{raw}/a", 1),
        ("b", f"local://{raw}/deep/b", 1),
        ("c", f"local://{raw}/c", 1),
        ("d", "s3://x/a", 1),
    )
    words = ("import", "--listing", listing, "--data", folder, "--to", "lakefs://sea/main")
    words += ("--on-invalid", "skip", "--no-progress")
    ran = run(*words)
    assert (ran.code, "2 of 3 rows that were looked up" in ran.err) == (1, True)
    assert "hint:  Correct the listing. To skip such rows" in ran.err
    assert "is 2 bytes, the listing says 1" in ran.err
    assert paths(folder) == []
    left = tmp_path / "left.csv"
    summary = run.ok(*words, "--verify", "all", "--rejected-rows", left, "--json").json
    assert summary["skipped"] == {
        "a size that is not the object's": 1,
        "an address of another store": 1,
        "an object that is not stored": 1,
    }
    assert "is 2 bytes, the listing says 1" in left.read_text()
    assert paths(folder) == ["a"]
    run.ok(*words, "--verify", "none")
    assert paths(folder) == ["a", "b", "c"]


def test_an_inventory(run, folder, bucket, tmp_path):
    with open_stores(load_settings({"data": str(folder)}, os.environ).settings) as (core, blocks):
        core.repositories.create("land", f"s3://{bucket}/land")
        for key in ("raw/a", "raw/b"):
            blocks.put(f"s3://{bucket}/{key}", [key.encode()])
    names = ("bucket", "key", "size")
    rows = [(bucket, "raw/a", 5), (bucket, "raw/b", 5), (bucket, "other", 3)]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    manifest = {
        "sourceBucket": bucket,
        "destinationBucket": "arn:aws:s3:::kept",
        "fileFormat": "Parquet",
        "fileSchema": "…",
        "files": [{"key": "x/0.parquet", "size": 5 << 30}],
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    words = ("import", "--inventory", tmp_path, "--data", folder, "--to", "lakefs://land/main")
    ran = run.ok(*words, "--prefix", "raw/", "--master", "local[1]")
    assert "engine: local, for 5,120 MiB in about" in ran.err
    assert "on Spark with 1 core" in ran.err
    assert ran.lines[0] == "Imported 2 objects to lakefs://land/main"
    ran = run(*words)
    assert (ran.code, "'other'" in ran.err, "not stored" in ran.err) == (1, True, True)


def test_what_cannot_be_is_said(run, folder, raw, tmp_path):
    listing = write(tmp_path / "l.parquet", ("a", "s3://x/a", 1))
    to = ("--data", folder, "--to", "lakefs://sea/main")
    for words, code, summary in (
        ((), 2, "one of --from, --listing and --inventory"),
        (("--from", f"local://{raw}/", "--listing", listing), 2, "one of"),
        (("--listing", listing, "--object"), 2, "--object needs --from"),
        (("--from", f"local://{raw}/", "--verify", "all"), 2, "--verify needs --listing"),
        (("--listing", listing, "--verify", "some"), 2, "some"),
        (("--listing", listing, "--prefix", "x"), 2, "--prefix needs --inventory"),
        (("--listing", listing, "--engine", "server"), 2, "a server cannot read"),
        (("--object", "--from", "local:///a", "--engine", "spark"), 2, "Spark cannot import"),
        (("--listing", listing, "--engine", "duckdb"), 2, "duckdb"),
        (("--listing", tmp_path / "none.parquet"), 1, "no such file"),
        (("--inventory", tmp_path), 1, "no such file"),
    ):
        ran = run("import", *words, *to)
        assert (ran.code, summary in ran.err) == (code, True), ran.err
    ran = run(
        "import", "--listing", listing, "--data", tmp_path / "no", "--to", "lakefs://sea/main"
    )
    assert (ran.code, "there is no such database" in ran.err) == (1, True)
    assert paths(folder) == []


def test_spark_that_is_not_there_is_missed(run, folder, tmp_path, monkeypatch):
    listing = write(tmp_path / "l.parquet", ("a", "s3://x/a", 1))
    monkeypatch.setattr("anabranch.spark.sessions.importlib.util.find_spec", lambda _: None)
    for words in (
        ("import", "--listing", listing, "--to", "lakefs://sea/main"),
        ("gc", "lakefs://sea"),
    ):
        ran = run(*words, "--data", folder, "--engine", "spark", "--master", "local[2]")
        assert (ran.code, "error: PySpark is not installed" in ran.err) == (1, True), ran.err
        assert "hint:  pip install 'anabranch[spark]'" in ran.err
    assert paths(folder) == []


def test_settings_file_is_that_of_the_server_as_for_exports(run, folder, raw, tmp_path):
    """Without `--data`, the folder of the settings has the database."""
    listing = write(tmp_path / "l.parquet", ("a", f"local://{raw}/a", 1))
    settings = tmp_path / "server.toml"
    settings.write_text(f"data = '{folder}'\n")
    words = ("import", "--listing", listing, "-c", settings, "--to", "lakefs://sea/main")
    assert run.ok(*words, "--engine", "local", "--json").json["objects"] == 1
    assert paths(folder) == ["a"]
    assert not (tmp_path / "anabranch-data").exists()


def test_json_leaves_the_progress_on_standard_error(run, folder, raw, tmp_path):
    listing = write(tmp_path / "l.parquet", ("a", f"local://{raw}/a", 1))
    words = (
        "import",
        "--listing",
        listing,
        "--data",
        folder,
        "--to",
        "lakefs://sea/main",
        "--json",
    )
    assert "reading" in run.ok(*words, "--engine", "local").err
    assert run.ok(*words, "--engine", "local", "--no-progress").err == ""
