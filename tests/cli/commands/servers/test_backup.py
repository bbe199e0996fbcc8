"""`anabranch backup` and `anabranch restore`: what they print, ask and refuse."""

from __future__ import annotations

import pytest
from support.verification.planted_faults import FAULTS

import anabranch


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "lake"
    with anabranch.open(folder, committer="ada") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"x" * 40])
        lake.commits.commit("sea", "main", message="m")
    return folder


@pytest.fixture
def target(tmp_path):
    return tmp_path / "kept"


def test_a_backup_says_what_it_has_copied(run, folder, target):
    ran = run.ok("backup", target, "--data", folder, "--objects")
    assert ran.lines[0].endswith(" of 1 repositories")
    assert ", 2 tables, 1 objects: " in ran.lines[1]
    again = run.ok("backup", target, "--data", folder, "--objects", "--json").json
    assert (again["copied_tables"], again["copied_objects"]) == (0, 0)
    assert len(run.ok("backup", "list", target, "--json").json) == 2


def test_a_backup_with_problems_exits_with_1(run, folder, target):
    FAULTS["object_missing"][0](folder)
    ran = run("backup", target, "--data", folder, "--objects")
    assert ran.code == 1
    assert "Not copied: sea a: local://sea/data/" in ran.out
    assert run("backup", "verify", target).code == 1


def test_a_restore_refuses_an_installation(run, folder, target):
    run.ok("backup", target, "--data", folder, "--objects")
    ran = run("restore", target, "--data", folder)
    assert ran.code == 1
    assert "installation already" in ran.err or "there is a key" in ran.err


def test_a_restore_at_a_time_before_all_backups_finds_none(run, folder, target, tmp_path):
    run.ok("backup", target, "--data", folder)
    ran = run("restore", target, "--data", tmp_path / "new", "--at", "2001-01-01T00:00")
    assert ran.code == 1
    assert "there is no such backup" in ran.err
    assert not (tmp_path / "new").exists()


def test_a_restore_says_what_it_has_written(run, folder, target, tmp_path):
    run.ok("backup", target, "--data", folder, "--objects")
    ran = run.ok("restore", target, "--data", tmp_path / "new", "--json")
    assert ran.json["repositories"] == ["sea"]
    assert (ran.json["tables"], ran.json["objects"]) == (2, 1)
    assert ran.json["keys"] == ["signing"]
    run.ok("fsck", "--data", tmp_path / "new", "--all")


def test_pruning_asks(run, folder, target):
    for _ in range(2):
        run.ok("backup", target, "--data", folder)
    ran = run("backup", "prune", target, "--keep", "1")
    assert ran.code == 2
    assert "Remove 1 backups permanently?" in ran.err
    pruned = run.ok("backup", "prune", target, "--keep", "1", "--yes", "--json").json
    assert len(pruned["removed"]) == 1
    assert len(run.ok("backup", "list", target, "--json").json) == 1


def test_a_target_of_no_store_is_refused(run, folder):
    ran = run("backup", "ftp://somewhere/else", "--data", folder)
    assert ran.code == 1
    assert "not a folder, and not an address" in ran.err


@pytest.mark.parametrize("words", [["backup", "list"], ["backup", "verify"], ["restore"]])
def test_a_target_that_does_not_exist_is_not_created(run, folder, target, words):
    ran = run(*words, target, "--data", folder)
    assert ran.code == 1
    assert "there is no such folder" in ran.err
    assert not target.exists()
