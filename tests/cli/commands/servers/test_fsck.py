"""`anabranch fsck`: its exit codes, its report, and repairs after a question."""

from __future__ import annotations

import pytest
from support.verification.planted_faults import FAULTS

import anabranch
from anabranch.pipelines.verification.findings import KINDS


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "lake"
    with anabranch.open(folder, committer="ada") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"x" * 40])
        lake.commits.commit("sea", "main", message="m")
    return folder


def test_a_sound_installation_exits_with_0(run, folder):
    ran = run.ok("fsck", "--data", folder)
    assert ran.lines == [
        "No findings in 1 repositories, 2 tables, 1 entries of 1 objects, 1 of them read"
    ]


def test_findings_exit_with_1_and_say_what_mends_them(run, folder):
    FAULTS["area_orphaned"][0](folder)
    ran = run("fsck", "--data", folder)
    assert ran.code == 1
    assert "(area_orphaned)" in ran.out
    assert "--repair would put it on the list of areas that servers remove" in ran.out


def test_json_has_the_whole_report(run, folder):
    FAULTS["object_missing"][0](folder)
    ran = run("fsck", "--data", folder, "--json", "--all")
    assert ran.code == 1
    assert ran.json["counts"] == {"object_missing": 1}
    (finding,) = ran.json["findings"]
    assert finding["kind"] in KINDS
    assert finding["subject"] == "sea a"
    assert ran.json["objects"] == 1


def test_no_installation_exits_with_2(run, tmp_path):
    ran = run("fsck", "--data", tmp_path / "none")
    assert ran.code == 2
    assert "there is no such database" in ran.err
    assert not (tmp_path / "none").exists()


def test_repair_asks(run, folder):
    FAULTS["area_orphaned"][0](folder)
    ran = run("fsck", "--data", folder, "--repair")
    assert ran.code == 2
    assert "Add --yes to confirm" in ran.err
    assert run("fsck", "--data", folder).code == 1


def test_repair_mends_and_then_nothing_is_found(run, folder):
    FAULTS["area_orphaned"][0](folder)
    ran = run.ok("fsck", "--data", folder, "--repair", "--yes")
    assert ran.lines[-1] == "Repaired 1 findings"
    run.ok("fsck", "--data", folder)


def test_repair_leaves_what_cannot_be_mended(run, folder):
    FAULTS["object_missing"][0](folder)
    FAULTS["area_orphaned"][0](folder)
    ran = run("fsck", "--data", folder, "--repair", "--yes", "--json")
    assert ran.code == 1
    assert [each["kind"] for each in ran.json["repaired"]] == ["area_orphaned"]


def test_json_repairs_only_with_yes(run, folder):
    assert run("fsck", "--data", folder, "--repair", "--json").code == 2
