"""The files of runs in the store."""

from __future__ import annotations

import json

from support.garbage import DAY, put, stored

from anabranch.pipelines.garbage.addresses.candidates import CANDIDATES


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
