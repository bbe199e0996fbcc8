"""Records and logs of runs, compared with those of a real lakeFS 1.84."""

from __future__ import annotations

import gzip
import json
import re
import tarfile
from pathlib import Path

import pytest

from anabranch.actions.runs.logs import RunLogs
from anabranch.actions.runs.records import RunRecords
from anabranch.actions.runs.run import HookRun, Run
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.records import lakefs_pb2

RECORDED = Path(__file__).parents[1] / "data" / "lakefs-1.84-database"
BYTES = re.compile(r"\\\\x([0-9a-f]*)")
LOG = "sea/_lakefs/actions/log"


def recorded_rows():
    """Returns the records of runs that lakeFS has stored, by their keys."""
    rows = {}
    for line in gzip.decompress((RECORDED / "database.sql.gz").read_bytes()).decode().splitlines():
        values = [bytes.fromhex(value) for value in BYTES.findall(line)]
        if len(values) == 3 and values[0] == b"actions":
            rows[values[1]] = values[2]
    return rows


@pytest.fixture
def records():
    store = MemoryStore()
    store.apply([Write("actions", key, value) for key, value in recorded_rows().items()])
    return RunRecords(store)


def without_fractions(key, raw):
    """Returns a record whose times have whole microseconds: ours have no more."""
    kinds = {b"runs": lakefs_pb2.RunResultData, b"tasks": lakefs_pb2.TaskResultData}
    kind = kinds.get(key.split(b"/")[2])
    if kind is None:
        return raw
    message = kind()
    message.ParseFromString(raw)
    for time in (message.start_time, message.end_time):
        time.nanos = round(time.nanos / 1000) * 1000
    return message


def test_records_of_lakefs_are_read_and_written_as_they_are(records):
    [run] = records.list("sea", branch="blocked", amount=9).items
    assert (run.event, run.source_ref, run.commit_id) == ("pre-commit", "blocked", "")
    assert not run.passed
    hooks = records.hooks("sea", run.id, amount=9).items
    assert [(each.hook_run_id, each.action, each.passed) for each in hooks] == [
        ("0000_0000", "refuse", False)
    ]
    written = {write.key: write.value for write in records.writes("sea", run, hooks)}
    expected = recorded_rows()
    assert written.keys() == expected.keys()
    for key, value in written.items():
        assert without_fractions(key, value) == without_fractions(key, expected[key])


def test_logs_of_lakefs_are_read_and_written_as_they_are(records, tmp_path):
    with tarfile.open(RECORDED / "blocks.tar.gz") as archive:
        members = [each for each in archive if f"{LOG}/" in f"{each.name}/"]
        archive.extractall(tmp_path, members, filter="data")
    logs = RunLogs(LocalBlocks(tmp_path))
    [run] = records.list("sea", amount=9).items
    assert logs.read("local://sea", run.id, "0000_0000").startswith(b"Error: action failed")
    manifest = tmp_path / LOG / run.id / "run.manifest"
    recorded = re.sub(r"(\.\d{6})\d*Z", r"\1Z", manifest.read_text())
    logs.write_manifest("local://sea", run, records.hooks("sea", run.id, amount=9).items)
    assert json.loads(manifest.read_text()) == json.loads(recorded)


def test_skipped_hooks_and_runs_of_many_pages_are_read(records):
    run = Run(
        id="r", event="post-merge", branch="b", commit_id="c", started=1.5, ended=2, passed=True
    )
    hooks = [
        HookRun(
            run_id="r", hook_run_id=f"0000_{number:04d}", hook_id="x1", action="a", started=number
        )
        for number in range(3)
    ]
    records._keyvalue.apply(records.writes("sea", run, hooks))
    assert records.get("sea", "r") == run
    page = records.hooks("sea", "r", amount=2)
    assert [hook.skipped for hook in page.items] == [True, False]
    assert (page.has_more, page.next_offset) == (True, "0000_0001")
    assert [run.id for run in records.list("sea", commit_id="c", amount=9).items] == ["r"]
    with pytest.raises(NotFound):
        records.hook("sea", "r", "0009_0000")
    with pytest.raises(NotFound):
        records.get("other", "r")
