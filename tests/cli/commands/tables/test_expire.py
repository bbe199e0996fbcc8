"""`table expire`: what is kept, and that the lake's history keeps the rest."""

from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest
from support.session.forked_python import forked_python

from anabranch.cli.commands.tables.expired_snapshots import expired_snapshots

from .conftest import rows

LATER = "2999-01-01"


def test_old_snapshots_are_removed_by_one_commit(ana, tables):
    lake, address = tables.lake, tables.lake.at("main/city.trips")
    old, current = (each.snapshot_id for each in tables.trips().snapshots())
    before = lake.head("main")
    words = ("table", "expire", address, "--older-than", LATER)
    assert [row[0] for row in ana.ok(*words, "--dry-run").rows] == [str(old)]
    assert lake.head("main") == before
    assert ana(*words).code == 2  # it asks
    assert ana.ok(*words, "--yes", "--json").json == {"removed": [old], "left": 1}
    assert [each.snapshot_id for each in tables.trips().snapshots()] == [current]
    assert tables.trips().scan().to_arrow().num_rows == 3
    assert len(tables.trips(before).snapshots()) == 2
    assert tables.trips(before).scan(snapshot_id=old).to_arrow().num_rows == 2
    shown = ana.ok("show", lake.at("main"), "--json").json
    assert shown["parents"] == [before]
    assert ana.ok(*words, "--yes").lines == [f"Removed 0 snapshots of {address}; it has 1"]
    assert lake.head("main") == shown["id"]


def test_young_and_named_snapshots_are_kept(ana, tables):
    address = tables.lake.at("main/city.trips")
    trips = tables.trips()
    trips.append(rows(4))
    first, second, third = (each.snapshot_id for each in trips.snapshots())
    trips.manage_snapshots().create_tag(first, "audited").commit()
    young = ("table", "expire", address, "--yes", "--older-than", "1d")
    assert ana.ok(*young, "--json").json == {"removed": [], "left": 3}
    words = ("table", "expire", address, "--yes", "--older-than", LATER)
    assert ana.ok(*words, "--retain-last", "2", "--json").json["removed"] == []
    assert ana.ok(*words, "--json").json["removed"] == [second]
    assert {each.snapshot_id for each in tables.trips().snapshots()} == {first, third}


def test_references_that_cannot_be_changed_are_refused(ana, tables):
    tables.lake.ana.ok("tag", "create", tables.lake.at("v1"), "main")
    words = ("--older-than", LATER, "--yes", "--json")
    ran = ana("table", "expire", tables.lake.at("v1/city.trips"), *words)
    assert (ran.code, ran.error["status"]) == (1, 403)
    assert "v1 is no branch" in ran.error["message"]
    assert ana("table", "expire", tables.lake.at("main/city.trips"), "--older-than", "x").code == 2


@pytest.mark.slow
def test_a_writer_that_comes_between_is_kept(ana, tables):  # noqa: ARG001  settings of the server
    """Rows are appended while the command waits for its answer: it decides again."""
    address = tables.lake.at("main/city.trips")
    words = ("table", "expire", address, "--older-than", LATER, "--json")
    main, follower = pty.openpty()
    with (
        os.fdopen(main, "wb", buffering=0) as keyboard,
        subprocess.Popen(
            [forked_python(), "-m", "anabranch", *words],
            stdin=follower,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        os.close(follower)
        question = b""
        while not question.endswith(b"[y/N] "):
            question += (read := process.stderr.read(1))
            assert read, question
        assert question.startswith(b"Remove 1 snapshot of ")
        tables.trips().append(rows(4))
        keyboard.write(b"y\n")
        out, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert json.loads(out)["left"] == 1
    (left,) = tables.trips().snapshots()
    assert left.summary["total-records"] == "4"
    assert tables.trips().scan().to_arrow().num_rows == 4


def snapshot(number, parent=None, at=None):
    return {
        "snapshot-id": number,
        "timestamp-ms": at or number * 1000,
        **({} if parent is None else {"parent-snapshot-id": parent}),
    }


CHAIN = [snapshot(1), snapshot(2, 1), snapshot(3, 2), snapshot(4, 3)]
MAIN = {"main": {"type": "branch", "snapshot-id": 4}}


@pytest.mark.parametrize(
    ("metadata", "options", "removed"),
    [
        ({"refs": MAIN}, {}, [1, 2]),
        ({"refs": MAIN}, {"retain_last": 3}, [1]),
        ({"refs": MAIN, "properties": {"history.expire.min-snapshots-to-keep": "4"}}, {}, []),
        ({"current-snapshot-id": 4}, {}, [1, 2]),  # of version 1, without references
        ({"refs": {"main": MAIN["main"] | {"min-snapshots-to-keep": 4}}}, {}, []),
        ({"refs": {"main": MAIN["main"] | {"max-snapshot-age-ms": 10**15}}}, {}, []),
        ({"refs": MAIN | {"old": {"type": "tag", "snapshot-id": 1}}}, {}, [2]),
        ({"refs": MAIN | {"wap": {"type": "branch", "snapshot-id": 2}}}, {}, [1]),
        ({"refs": MAIN, "snapshots": [*CHAIN, snapshot(5), snapshot(6, 1, 2500)]}, {}, [1, 2, 6]),
        ({"refs": {}, "snapshots": []}, {}, []),
        ({}, {}, [1, 2]),  # staged alone: no reference leads to them
    ],
)
def test_what_is_kept_is_what_the_specification_says(metadata, options, removed):
    given = {"snapshots": CHAIN, **metadata}
    assert expired_snapshots(given, older_than_ms=3000, **options) == removed
