"""`refs` and `repo create-bare` against a real server."""

from __future__ import annotations

import json

import pytest

IDS = ["branches_meta_range_id", "commits_meta_range_id", "tags_meta_range_id"]


@pytest.fixture
def dumped(ana, lake, tmp_path):
    """A file with the dump of a repository that has two commits, two branches and a tag."""
    lake.commit("main", "First", a="1")
    lake.branch("dev")
    lake.commit("dev", "Second", b="2")
    ana.ok("tag", "create", lake.at("v1"), lake.at("dev"))
    file = tmp_path / "refs.json"
    ran = ana.ok("refs", "dump", lake.uri, "-o", file)
    assert ran.out == f"Wrote the references of {lake.uri} to {file}\n"
    return file


@pytest.fixture
def bare(ana, lake, server):
    """A bare repository on the storage namespace of the other."""
    uri = f"{lake.uri}-copy"
    ran = ana.ok("repo", "create-bare", uri, f"{server.storage}{lake.name}", "-d", "trunk")
    assert ran.out == f"Created the bare repository {uri} in {server.storage}{lake.name}\n"
    assert ana.ok("branch", "list", uri).out == ""
    return uri


def test_a_dump_is_printed_as_lakectl_prints_it(ana, lake, dumped):
    text = dumped.read_text()
    ids = json.loads(text)
    assert list(ids) == IDS
    assert text == json.dumps(ids, indent=2) + "\n"
    for words in (["refs", "dump"], ["refs-dump"], ["refs", "dump", "-o", "-"]):
        assert ana.ok(*words, lake.uri).out == text
    assert ana.ok("refs", "dump", lake.uri, "--json").json == ids


def test_a_dump_is_restored(ana, lake, dumped, bare):
    ran = ana.ok("refs", "restore", bare, "--manifest", dumped)
    assert ran.out == f"Restored the references of {bare}\n"
    for ref in ("main", "dev", "v1"):
        log = ana.ok("log", lake.at(ref), "--json").out
        assert ana.ok("log", f"{bare}/{ref}", "--json").out == log
    assert ana.ok("fs", "cat", f"{bare}/dev/b").raw == b"2"
    again = ana("refs", "restore", bare, "--manifest", dumped)
    assert (again.code, again.out) == (1, "")
    assert "can only restore into a bare repository" in again.err


def test_a_read_only_repository_stays_read_only(ana, server, lake, dumped):
    namespace = f"{server.storage}{lake.name}"
    uri = f"{lake.uri}-read-only"
    ana.ok("repo", "create-bare", uri, namespace, "--read-only")
    refused = ana("refs", "restore", uri, "--manifest", dumped)
    assert (refused.code, "read-only" in refused.err) == (1, True)
    ana.ok("refs", "restore", uri, "--manifest", dumped, "--force")
    assert ana.ok("repo", "show", uri, "--json").json["read_only"] is True
    ran = ana.ok("refs", "dump", uri)
    assert ran.out == dumped.read_text()
    assert "`repo create-bare --read-only`" in ran.err
    assert "read-only" not in ana.ok("refs", "dump", lake.uri).err


def test_a_manifest_is_read_from_standard_input(ana, dumped, bare):
    ana.ok("refs-restore", bare, "--manifest", "-", "--force", stdin=dumped.read_bytes())
    assert [row[0] for row in ana.ok("branch", "list", bare).rows] == ["dev", "main"]


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (b"", "Expecting value"),
        (b"\xff", "invalid start byte"),
        (b"[]", "it is no JSON object"),
        (b"{}", "it has no text 'branches_meta_range_id'"),
        (b'{"branches_meta_range_id": 1}', "it has no text 'branches_meta_range_id'"),
    ],
)
def test_what_is_no_manifest_is_refused(ana, bare, tmp_path, manifest, reason):
    file = tmp_path / "manifest"
    file.write_bytes(manifest)
    ran = ana("refs", "restore", bare, "--manifest", file)
    assert ran.code == 1
    assert f"{file} is not a manifest of references: " in ran.err
    assert reason in ran.err
    assert ana.ok("branch", "list", bare).out == ""


def test_failures_of_the_task_are_reported(ana, dumped, bare, tmp_path):
    absent = dumped.read_text().replace(json.loads(dumped.read_text())[IDS[2]], "0" * 64)
    (tmp_path / "absent").write_text(absent)
    ran = ana("refs", "restore", bare, "--manifest", tmp_path / "absent", "--json")
    assert ran.code == 1
    assert ran.error["kind"] == "restore_failed"
    assert "is not in the repository's storage namespace" in ran.error["message"]
    ran = ana("refs", "restore", bare, "--manifest", tmp_path / "none")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "error: No such file or directory")
    ran = ana("refs", "dump", "lakefs://no-such-repository")
    assert (ran.code, ran.out) == (1, "")
    assert ana("refs", "restore", bare).code == 2
    ana.ok("refs", "restore", bare, "--manifest", dumped)
