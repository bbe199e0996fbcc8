"""The files of runs in the store."""

from __future__ import annotations

import json

import pytest
from support.garbage import DAY, put, stored

from anabranch.errors import NotFound
from anabranch.pipelines.garbage.addresses.candidates import CANDIDATES
from anabranch.pipelines.garbage.run_files import RUNS


def test_run_writes_summary_and_candidates_to_the_store(lake, clock, collector):
    put(lake, "a", body=b"123"), put(lake, "a", body=b"1")
    clock.advance(2 * DAY)
    with collector.mark("sea") as run:
        location = run.summary.candidates_location
        (batch,) = run.candidates()
        assert batch.schema == CANDIDATES
    summary = json.loads(lake.blocks.read(location.replace("candidates.parquet", "summary.json")))
    assert summary["state"] == "reported"
    assert summary["candidates"] == {"objects": 1, "bytes": 3}
    assert summary["listed"] == {"objects": 2, "bytes": 4}
    assert summary["by_month"] == {"2023-11": {"objects": 1, "bytes": 3}}
    assert summary["found"]["repositories"] == 1


def test_files_of_old_runs_are_removed(lake, clock, collector):
    for _ in range(12):
        clock.advance(60)
        with collector.mark("sea", window_seconds=0) as run:
            run.sweep()
    runs = {name.split("/")[4] for name in stored(lake, "mem://sea") if "gc/anabranch" in name}
    assert len(runs) == 10
    assert run.summary.run_id == min(runs)


def test_last_listed_is_the_number_of_the_newest_complete_run(lake, clock, collector):
    assert collector.last_listed("sea") is None
    put(lake, "a", body=b"123"), put(lake, "b", body=b"1")
    with collector.mark("sea"):
        pass
    assert collector.last_listed("sea") == 2
    put(lake, "c", body=b"1")
    clock.advance(60)
    with collector.mark("sea", check_only=True):
        pass
    assert collector.last_listed("sea") == 3
    with pytest.raises(NotFound):
        collector.last_listed("land")


def test_last_listed_ignores_incomplete_and_damaged_runs_and_quarantined_objects(lake, collector):
    folder = f"mem://sea/{RUNS}"
    for run, content in (
        ("a", b"{"),
        ("b", b'{"listed": {"objects": 0, "bytes": 0}}'),
        ("c/quarantine", b'{"listed": {"objects": 6, "bytes": 1}}'),
        ("d", b'{"listed": {"objects": 7, "bytes": 1}}'),
        ("e", b'{"listed": {"objects": 8, "bytes": 1}}'),
    ):
        lake.blocks.put(f"{folder}{run}/summary.json", [content])
    assert collector.last_listed("sea") == 7
