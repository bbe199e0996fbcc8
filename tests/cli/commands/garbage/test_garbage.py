"""`gc`: the rules through a server, and collecting in the server's folder."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import msgspec
import pytest
from support.wall_clock import wait_a_second

import anabranch
from anabranch.testing.server import running_server


def test_rules_can_be_set_shown_and_deleted(ana, lake, tmp_path):
    ran = ana("gc", "get-config", lake.uri)
    assert (ran.code, ran.err.splitlines()[0]) == (1, "error: not found")
    ana.ok("gc", "set-config", lake.uri, "--default", "21", "--branch", "main=28")
    assert ana.ok("gc", "get-config", lake.uri).rows == [["main", "28"], ["(all others)", "21"]]
    rules = {"default_retention_days": 3, "branches": [{"branch_id": "a", "retention_days": 1}]}
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    ana.ok("gc", "set-config", lake.uri, "-f", tmp_path / "rules.json")
    assert ana.ok("gc", "get-config", lake.uri, "--json").json == rules
    ana.ok("gc", "set-config", lake.uri, "-f", "-", stdin=json.dumps({**rules, "branches": []}))
    assert ana.ok("gc", "get-config", lake.uri).rows == [["(all others)", "3"]]
    assert "all commits are kept" in ana.ok("gc", "delete-config", lake.uri).out
    assert ana("gc", "get-config", lake.uri).code == 1


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--default", "-1"),
        ("--default", "x"),
        ("--default", "1", "--branch", "main"),
        ("--default", "1", "--branch", "main=-2"),
        ("-f", "-"),
    ],
)
@pytest.mark.sample(3)
def test_invalid_rule_is_refused_before_a_request(ana, lake, words):
    assert ana("gc", "set-config", lake.uri, *words, stdin="no json").code == 2


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A lake with an object that was overwritten, and one that was not, both a second old."""
    data = tmp_path_factory.mktemp("garbage") / "data"
    with anabranch.open(data) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"old"])
        lake.objects.upload("sea", "main", "a", [b"kept"])
    wait_a_second()
    return data


@pytest.fixture
def folder(template, tmp_path):
    """A copy of that lake."""
    return shutil.copytree(template, tmp_path / "data")


def data_files(folder):
    return [path for path in (folder / "block" / "sea" / "data").rglob("*") if path.is_file()]


def gc(run, folder, *words, **options):
    return run.ok("gc", "lakefs://sea", "--data", folder, "--grace", "0", *words, **options)


def test_report_removes_nothing(run, folder):
    ran = gc(run, folder)
    assert len(data_files(folder)) == 2
    report = {line.partition(":")[0]: line.partition(":")[2].strip() for line in ran.lines}
    assert report["dead"] == "1 object, 3 B"
    assert report["may be removed"] == "0 objects, 0 B"
    assert report["listed"] == "2 objects, 7 B"
    assert "more from" in report
    assert Path(report["candidates"].removeprefix("local://")).exists()
    assert "listing the store" in ran.err


@pytest.mark.slow
def test_engine_is_chosen_by_the_objects_of_the_last_run(run, folder):
    why = "which runs in this process, because no --master is given"
    for words in ((), ("--quarantine", "7d")):
        assert f"engine: local, {why}" in gc(run, folder, *words).err
    with anabranch.open(folder) as lake:
        lake.repositories.create("land", "local://land")
    new = run.ok("gc", "lakefs://land", "--data", folder, "--master", "yarn")
    assert "engine: local, because no earlier run has counted the objects" in new.err
    expected = (
        "engine: local, for 2 objects, which the last run listed, in about 0 s,"
        " and in 20 s on Spark with 16 cores"
    )
    assert expected in gc(run, folder, "--master", "yarn").err


def test_page_is_written_to_the_given_file(run, folder, tmp_path):
    ran = gc(run, folder, "--html", tmp_path / "page.html")
    report = {line.partition(":")[0]: line.partition(":")[2].strip() for line in ran.lines}
    page = (tmp_path / "page.html").read_bytes()
    assert b"<h1>Garbage of sea</h1>" in page
    assert Path(report["page"].removeprefix("local://")).read_bytes() == page
    ran = run(
        *("gc", "lakefs://sea", "--data", folder, "--grace", "0"),
        *("--html", tmp_path / "none" / "page.html"),
    )
    assert (ran.code, "page.html" in ran.err) == (1, True)


def test_sweep_asks_for_confirmation_and_removes_due_candidates(run, folder):
    first = gc(run, folder, "--sweep", "--yes", "--json").json
    assert (first["state"], first["due"]["objects"], first["swept"]["objects"]) == ("swept", 0, 0)
    ran = run("gc", "lakefs://sea", "--data", folder, "--grace=0", "--window=0", "--sweep")
    assert (ran.code, "not a terminal" in ran.err) == (2, True)
    assert len(data_files(folder)) == 2
    words = ("gc", "--data", folder, "--grace=0", "--window=0", "--sweep", "lakefs://sea")
    ran = run(*words, stdin="n\n", terminal=True)
    assert (ran.code, "nothing was changed" in ran.err) == (1, True)
    assert len(data_files(folder)) == 2
    ran = run.ok(*words, stdin="y\n", terminal=True)
    assert "Removed 1 object, 3 B" in ran.out
    (left,) = data_files(folder)
    assert left.read_bytes() == b"kept"
    again = run.ok(*words, "--yes", "--rate", "1000")
    assert "Removed 0 objects" in again.out


def test_old_uploads_are_reported_and_ended_on_request(run, folder):
    long_ago = time.time() - 10 * 86_400
    with anabranch.open(folder) as lake:
        scenario = lake.core.repositories.get("sea")
        upload = lake.uploads.create("sea", "main", "big")
        begun = msgspec.structs.replace(upload, creation_date=int(long_ago))
        lake.core.uploads.begin(scenario, begun)
    report = gc(run, folder).out
    assert "1 upload in parts, begun 7 days ago or earlier" in report
    assert gc(run, folder, "--end-uploads", "11", "--json").json["old_uploads"] == 0
    ran = gc(run, folder, "--end-uploads", "9", "--sweep", "--yes")
    assert "Ended 1 upload in parts" in ran.out
    assert run("gc", "lakefs://sea", "--data", folder, "--end-uploads", "0").code == 2


def test_gc_through_a_server_needs_no_database(run, folder, tmp_path, monkeypatch):
    with running_server(folder) as server:
        monkeypatch.setenv("ANABRANCH_ACCESS_KEY_ID", server.access_key_id)
        monkeypatch.setenv("ANABRANCH_SECRET_ACCESS_KEY", server.secret_access_key)
        monkeypatch.setenv("ANABRANCH_BLOCKSTORE_LOCAL_PATH", str(folder / "block"))
        words = ("gc", "lakefs://sea", "--through", server.url, "--data", tmp_path / "elsewhere")
        options = ("--grace=0", "--window=0", "--sweep", "--yes", "--json")
        swept = run.ok(*words, *options).json
        assert (swept["state"], swept["swept"]["objects"]) == ("swept", 1)
        (left,) = data_files(folder)
        assert left.read_bytes() == b"kept"
        monkeypatch.setenv("ANABRANCH_SECRET_ACCESS_KEY", "wrong")
        ran = run(*words)
        assert (ran.code, "authenticating" in ran.err) == (1, True)


def test_invalid_arguments_and_settings_are_explained(run, folder, tmp_path, monkeypatch):
    ran = run("gc", "lakefs://land", "--data", folder)
    assert (ran.code, "error: repository not found\n" in ran.err) == (1, True)
    ran = run("gc", "lakefs://sea", "--data", tmp_path / "nothing")
    assert (ran.code, "there is no such database" in ran.err) == (1, True)
    assert not (tmp_path / "nothing").exists()
    ran = run("gc", "lakefs://sea", "--data", folder, "--sweep", "--json")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    for words in (["--grace", "-1"], ["--window", "x"], ["--rate", "0"]):
        assert run("gc", "lakefs://sea", "--data", folder, *words).code == 2
    monkeypatch.setenv("ANABRANCH_DATABASE_TYPE", "mem")
    ran = run("gc", "lakefs://sea", "--data", folder)
    assert (ran.code, "in memory" in ran.err) == (1, True)


def test_missing_range_fails_the_run_and_is_named(run, folder):
    with anabranch.open(folder) as lake:
        commit = lake.commits.commit("sea", "main", message="m", committer="me")
        scenario = lake.core.repositories.get("sea")
        (lost,) = lake.core.trees.open(scenario, commit.metarange_id).ranges()
    (folder / "block" / "sea" / "_lakefs" / lost.id).unlink()
    ran = run("gc", "lakefs://sea", "--data", folder, "--grace=0", "--window=0", "--sweep", "-y")
    assert (ran.code, lost.id in ran.err) == (1, True)
    assert len(data_files(folder)) == 2


def test_missing_objects_are_listed_and_fail_the_command(run, folder):
    assert run("gc", "lakefs://sea", "--data", folder, "--check-only").code == 0
    lost = f"data/{'c' * 20}/{'c' * 20}"  # named in 2022
    with anabranch.open(folder) as lake:
        lake.staging.stage(
            *("sea", "main", "lost/a"), address=f"local://sea/{lost}", checksum="0" * 32, size=1
        )
    for words in ((), ("--check-only",)):
        ran = run("gc", "lakefs://sea", "--data", folder, *words)
        assert ran.code == 1
        assert f"Missing: {lost}, at lakefs://sea: lost/a, needed by staged on main" in ran.out
    ran = run("gc", "lakefs://sea", "--data", folder, "--check-only", "--json")
    assert (ran.code, ran.json["missing"]["objects"], ran.json["state"]) == (1, 1, "checked")
    assert len(data_files(folder)) == 2
    words = ("--check-only", "--sweep", "--yes")
    assert run("gc", "lakefs://sea", "--data", folder, *words).code == 2


def test_sweep_into_quarantine_can_be_restored(run, folder):
    words = ("--window=0", "--sweep", "--quarantine", "7d")
    ran = run("gc", "lakefs://sea", "--data", folder, "--grace=0", *words)
    assert (ran.code, "keep objects in quarantine for 7 days?" in ran.err) == (2, True)
    ran = gc(run, folder, *words, "--yes")
    assert "Moved 1 object, 3 B to quarantine" in ran.out
    assert len(data_files(folder)) == 1
    ((name, _, until, *rest),) = run.ok("gc", "quarantine", "lakefs://sea", "--data", folder).rows
    assert rest == ["1", "3", "0"]
    assert until > time.strftime("%Y-%m-%dT", time.gmtime(time.time() + 6 * 86_400))
    command = ran.out.partition("this restores them: anabranch ")[2].splitlines()[0]
    assert command == f"gc restore lakefs://sea {name}"
    restore = (*command.split(), "--data", folder)
    planned = run.ok(*restore, "--dry-run").lines
    assert (planned[0][:5], planned[1]) == ("data/", "Would restore 1 object, 3 B")
    assert len(data_files(folder)) == 1
    assert "Would restore 0 objects" in run.ok(*restore, "--dry-run", "--address", "data/no").out
    ran = run.ok(*restore, "--address", planned[0])
    assert "Restored 1 object, 3 B" in ran.out
    assert sorted(path.read_bytes() for path in data_files(folder)) == [b"kept", b"old"]
    assert run.ok(*restore, "--json").json["restored"] == {"objects": 0, "bytes": 0}
    ran = gc(run, folder, *words, "--yes", "--json")
    assert (ran.json["candidates"]["objects"], ran.json["quarantined"]["objects"]) == (0, 0)
    assert "Purged 0 objects" in run.ok("gc", "purge", "lakefs://sea", "--data", folder).out


def test_objects_that_cannot_be_restored_are_listed_and_fail_the_command(run, folder):
    words = ("--window=0", "--sweep", "--quarantine", "12h", "--yes")
    name = gc(run, folder, *words, "--json").json["run_id"]
    (hidden,) = (folder / "block" / "sea" / ".anabranch-quarantine").rglob("data/*/*")
    address = "/".join(hidden.parts[-3:])
    (folder / "block" / "sea" / address).parent.mkdir(parents=True, exist_ok=True)
    (folder / "block" / "sea" / address).write_bytes(b"another")
    ran = run("gc", "restore", "lakefs://sea", name, "--data", folder)
    assert (ran.code, f"Not restored: {address}: another object" in ran.out) == (1, True)
    assert (folder / "block" / "sea" / address).read_bytes() == b"another"
    ran = run("gc", "restore", "lakefs://sea", "c" * 20, "--data", folder)
    assert (ran.code, "nothing in quarantine" in ran.err) == (1, True)
    for time_ in ("7", "0d", "-1d", "7w", "1.5d", "99999d", ""):
        assert run("gc", "lakefs://sea", "--data", folder, f"--quarantine={time_}").code == 2
    words = ("--quarantine=1d", "--check-only")
    assert run("gc", "lakefs://sea", "--data", folder, *words).code == 2


@pytest.mark.slow
def test_sweep_into_quarantine_works_through_a_server(run, folder, tmp_path, monkeypatch):
    with running_server(folder) as server, monkeypatch.context() as patch:
        patch.setenv("ANABRANCH_ACCESS_KEY_ID", server.access_key_id)
        patch.setenv("ANABRANCH_SECRET_ACCESS_KEY", server.secret_access_key)
        patch.setenv("ANABRANCH_BLOCKSTORE_LOCAL_PATH", str(folder / "block"))
        words = ("gc", "lakefs://sea", "--through", server.url, "--data", tmp_path / "elsewhere")
        words += ("--grace=0", "--window=0", "--sweep", "--quarantine=1d", "--yes", "--json")
        swept = run.ok(*words).json
        assert (swept["swept"]["objects"], swept["quarantined"]["objects"]) == (0, 1)
        assert len(data_files(folder)) == 1
        restore = ("gc", "restore", "lakefs://sea", swept["run_id"], "--data", folder, "--json")
        patch.delenv("ANABRANCH_BLOCKSTORE_LOCAL_PATH")
        assert run.ok(*restore).json["restored"]["objects"] == 1
        patch.setenv("ANABRANCH_BLOCKSTORE_LOCAL_PATH", str(folder / "block"))
        again = run.ok(*words).json
        assert (again["candidates"]["objects"], again["quarantined"]["objects"]) == (0, 0)
    assert len(data_files(folder)) == 2
