"""`export`: from the server's folder to a folder, and to a prefix of the store."""

from __future__ import annotations

import json
import re

import pytest

import anabranch


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    with anabranch.open(data) as lake:
        lake.repositories.create("sea", "local://sea")
        for path in ("a.csv", "b/c.csv", "b//d"):
            lake.objects.upload("sea", "main", path, [path.encode()])
        lake.commits.commit("sea", "main", message="m", committer="me")
    return data


def test_a_folder_is_brought_up_to_date(run, folder, tmp_path):
    out = tmp_path / "out"
    words = ("export", "--data", folder, "lakefs://sea/main", out)
    ran = run(*words)
    assert (ran.code, "'b//d' cannot be exported there" in ran.err) == (1, True)
    ran = run.ok(*words, "--skip-invalid")
    report = {line.partition(":")[0]: line.partition(":")[2].strip() for line in ran.lines}
    assert report["left out"] == "1 object"
    assert "'b//d'" in ran.err
    assert {path.relative_to(out).as_posix() for path in out.rglob("*.csv")} == {
        "a.csv",
        "b/c.csv",
    }
    with anabranch.open(folder) as lake:
        lake.objects.delete("sea", "main", "a.csv")
        lake.commits.commit("sea", "main", message="m", committer="me")
    done = run.ok(*words, "--json").json
    assert (done["stored"], done["removed"]) == (0, 1)
    assert not (out / "a.csv").exists()
    (out / "theirs.csv").write_text("x")
    assert run.ok(*words, "--remove-extra", "--json").json["extra"] == 1


def test_a_prefix_of_the_store(run, folder):
    words = ("export", "--data", folder, "lakefs://sea/main~0", "local://out/x", "--json")
    assert "'b//d' cannot be exported there" in run(*words).err
    done = run.ok(*words, "--skip-invalid").json
    assert (done["destination"], done["stored"], done["invalid"]) == ("local://out/x/", 2, 1)
    assert (folder / "block" / "out" / "x" / "a.csv").read_bytes() == b"a.csv"


def test_what_cannot_be_is_said(run, folder, tmp_path):
    for reference, to, word in (
        ("lakefs://land/main", tmp_path / "out", "repository not found"),
        ("lakefs://sea/none", tmp_path / "out", "not found"),
        ("lakefs://sea/main", folder, "has its data there"),
        ("lakefs://sea/main", "local://sea/exports", "has its data there"),
        ("lakefs://sea/main", "s3://bucket/x", "s3://bucket/x"),
    ):
        ran = run("export", "--data", folder, reference, to)
        assert (ran.code, word in ran.err) == (1, True), ran.err
    assert run("export", "--data", folder, "lakefs://sea", tmp_path / "out").code == 2


def test_engine_is_chosen_by_the_size_of_the_export(run, folder, tmp_path):
    out = tmp_path / "out"
    words = ("export", "--data", folder, "lakefs://sea/main", out, "--skip-invalid")
    ran = run.ok(*words)
    assert "engine: local, which copies in this process, because no --master is given" in ran.err
    expected = r"engine: local, for (.*), in about 0 s, and in 20 s on Spark with 16 cores"
    (amount,) = re.findall(expected, run.ok(*words, "--master", "yarn", "--everything").err)
    assert amount == "3 objects or less, of 16 B"
    (amount,) = re.findall(expected, run.ok(*words, "--master", "yarn").err)
    assert amount == "0 objects or less, of 0 B"
    summary = tmp_path / "summary.json"
    ran = run(
        *("export", "--data", folder, "lakefs://land/main", out, "--master", "yarn"),
        *("--summary", summary),
    )
    assert (ran.code, "repository not found" in ran.err) == (1, True)
    failed = json.loads(summary.read_text())
    assert (failed["engine"], failed["state"]) == ("local", "failed")
    assert failed["why"] == "because the size of the job cannot be found"
