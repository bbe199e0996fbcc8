"""Tables that are merged and compared in processes: what exceeds a limit ends one process only."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.eventually import eventually
from support.formats.keyed_tables import parquet
from support.formats.row_comparison import compare as in_this_process

from anabranch.child_process.descendants import children, has_ended
from anabranch.errors import AnabranchError, Busy, Conflict, Gone, Invalid, NotSupported
from anabranch.http.abandonment import reset_abandonment, set_abandonment
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.registry import make_strategy
from anabranch.versioning.strategies.rows.differences import row_differences
from anabranch.versioning.strategies.rows.strategy import rows_strategy
from anabranch.versioning.strategies.table_processes.comparisons import compare_files
from anabranch.versioning.strategies.table_processes.limits import TableLimits
from anabranch.versioning.strategies.table_processes.messages import (
    FileComparison,
    FileVersion,
    MergeTask,
    RowMatching,
)
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

SMALL = TableProcesses(TableLimits(memory_bytes=500 << 20, file_bytes=32 << 20, seconds=60))
MATCHING = RowMatching(key=("id",), amount=10)
MERGE = MergeTask("rows", {}, "t.csv", "flights", {}, "/nonexistent")


def parquet_bomb():
    """Returns a Parquet file of 1 MiB whose column `v` has 2 GiB."""
    rows = 2048
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * (1 << 20)])
    sink = io.BytesIO()
    table = pa.table({"id": range(rows), "v": texts})
    pq.write_table(table, sink, store_schema=False, compression="none")
    assert sink.tell() < 2 << 20
    return sink.getvalue()


def gzip_bomb():
    """Returns a CSV file of 48 MiB, compressed to 220 KB."""
    return gzip.compress(b"id,v\n1," + b"x" * (48 << 20) + b"\n", 1)


def table_processes():
    """Returns the ids of the processes of tables that run, and that of their fork server."""
    for process in children(os.getpid()):
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        if b"table_processes.table_process" in command:
            return [each for each in children(process) if not has_ended(each)], process
    return [], None


def no_object(_):
    """Answers a call for an object that does not exist."""


def perform(processes, task, answer=no_object):
    """Performs a task, and returns the error that it raises."""
    with pytest.raises(AnabranchError) as refused:
        processes.perform(task, answer)
    return refused.value


def compare(processes, path, left, right, folder):
    sides = []
    for name, content in (("left", left), ("right", right)):
        file = Path(folder, name)
        file.write_bytes(content)
        sides.append(FileVersion(str(file), len(content), "text/csv", {}))
    folder = str(folder)
    return compare_files(processes, path, *sides, file_format="", matching=MATCHING, folder=folder)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("path", "bomb", "kind"),
    [
        ("t.parquet", parquet_bomb, "out_of_memory"),
        ("t.csv.gz", gzip_bomb, "too_large"),
    ],
)
def test_a_file_that_expands_ends_its_process_only(path, bomb, kind, tmp_path):
    content = bomb()
    with pytest.raises(Invalid) as refused:
        compare(SMALL, path, content, content, tmp_path)
    assert refused.value.kind == f"comparison_{kind}"
    strategy = make_strategy("rows", {}, processes=SMALL)
    with pytest.raises(Conflict) as refused:
        run_strategy(strategy, path, base=content, source=content, destination=content)
    assert refused.value.kind == f"merge_{kind}"
    assert "Split the table" in refused.value.hint


def test_a_process_that_is_killed_is_an_error_of_the_merge():
    def kill(_):
        running, _ = table_processes()
        for process in running:
            os.kill(process, signal.SIGKILL)

    error = perform(SMALL, MERGE, kill)
    assert (type(error), error.kind) == (Conflict, "merge_process_ended")


def test_a_fork_server_that_is_killed_is_started_again(tmp_path):
    _, server = table_processes()
    if server is not None:
        os.kill(server, signal.SIGKILL)
    assert compare(SMALL, "t.csv", b"id\n1\n", b"id\n2\n", tmp_path).items


@pytest.fixture
def hanging(tmp_path):
    """A comparison that waits for bytes which nothing writes."""
    os.mkfifo(tmp_path / "pipe")
    version = FileVersion(str(tmp_path / "pipe"), 1, "text/csv", {})
    return FileComparison("t.csv", version, version, "", MATCHING, str(tmp_path))


def test_a_process_that_hangs_is_killed_when_its_time_is_up(hanging):
    error = perform(TableProcesses(TableLimits(seconds=0.3)), hanging)
    assert (type(error), error.kind) == (Conflict, "merge_timed_out")
    assert "0.3 s" in error.message
    assert "merges.timeout" in error.hint
    eventually(lambda: table_processes()[0] == [])


def test_the_process_of_a_client_that_has_gone_is_killed(hanging):
    token = set_abandonment(lambda: bool(table_processes()[0]))
    try:
        error = perform(SMALL, hanging)
    finally:
        reset_abandonment(token)
    assert error.kind == "client_gone"
    eventually(lambda: table_processes()[0] == [])


def test_more_tables_than_permitted_wait_and_are_refused():
    processes = TableProcesses(TableLimits(processes=1), max_wait=0.01)

    def answer(_):
        raise perform(processes, MERGE)

    error = perform(processes, MERGE, answer)
    assert (type(error), error.kind) == (Busy, "too_many_tables")
    assert processes.perform(MERGE, no_object).conflicts  # its place is free again


def test_errors_of_objects_are_those_of_the_merge():
    lost = Gone("the bytes are lost", kind="data_missing")

    def answer(_):
        raise lost

    assert perform(SMALL, MERGE, answer) is lost


@pytest.mark.parametrize(
    ("left", "matching"),
    [
        (b"id\n1\n1\n", MATCHING),
        (b"id\n1\n", RowMatching(key=("id",), whole_rows=True, amount=1)),
        (b"id\n1\n", RowMatching(after="x", amount=1)),
        (b"PAR1", MATCHING),
    ],
)
def test_errors_keep_their_class_kind_message_and_hint(left, matching, tmp_path):
    file = tmp_path / "left"
    file.write_bytes(left)
    version = FileVersion(str(file), len(left), "text/csv", {})
    task = FileComparison("t.csv", version, version, "", matching, str(tmp_path))
    with pytest.raises(AnabranchError) as raised:
        row_differences(
            *("t.csv", version, version),
            key=matching.key,
            whole_rows=matching.whole_rows,
            after=matching.after,
            amount=matching.amount,
            folder=str(tmp_path),
        )
    here, there = raised.value, perform(SMALL, task)
    assert type(there) is type(here)
    assert (there.kind, there.message, there.hint) == (here.kind, here.message, here.hint)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
def test_a_process_returns_the_bytes_and_conflicts_that_the_strategy_does(name):
    contents = {
        "csv": [b"id,v\n1,a\n2,b\n", b"id,v\n1,c\n2,b\n", b"id,v\n1,a\n2,d\n"],
        "jsonl": [b'{"id":1,"v":1}\n', b'{"id":1,"v":1e400}\n', b'{"id":1,"v":1}\n{"id":2}\n'],
        "parquet": [
            parquet({"id": pa.int64(), "v": pa.float64()}, [(1, one), (2, other)])
            for one, other in ((1.0, 2.0), (float("nan"), 2.0), (1.0, float("inf")))
        ],
    }
    base, source, destination = contents[name]
    for mine in (destination, base.replace(b"1,a", b"1,e")):
        sides = {"base": base, "source": source, "destination": mine}
        expected = run_strategy(rows_strategy({"key": "id"}), f"t.{name}", **sides)
        assert run_strategy(make_strategy("rows", {"key": "id"}), f"t.{name}", **sides) == expected


def test_values_that_differ_are_those_of_the_strategy(tmp_path):
    columns = {"id": pa.int64(), "v": pa.float64(), "n": pa.uint64(), "b": pa.binary()}
    left = parquet(columns, [(1, float("nan"), 2**64 - 1, b"\xff"), (2, 1.5, 1, None)])
    right = parquet(columns, [(1, float("-inf"), 1, b""), (3, None, 0, b"\x00")])
    page = compare(SMALL, "t.parquet", left, right, tmp_path)
    assert page == in_this_process("t.parquet", left, right, key=["id"])


def test_a_process_has_no_secrets_and_limits(monkeypatch):
    """What the process of a task may use is read from the system while it waits for an answer."""
    monkeypatch.setenv("ANABRANCH_SECRET", "verysecret")
    seen = []

    def look(_):
        ((process,), _) = table_processes()
        environment = Path(f"/proc/{process}/environ").read_bytes()
        limits = Path(f"/proc/{process}/limits").read_text().splitlines()
        seen.append(
            (b"verysecret" in environment, {line[:25].strip(): line[26:] for line in limits})
        )
        raise Gone("enough")

    perform(SMALL, MERGE, look)
    ((has_secret, limits),) = seen
    assert not has_secret
    assert limits["Max data size"].split()[0] == str(500 << 20)
    assert limits["Max file size"].split()[0] == str(32 << 20)
    assert limits["Max core file size"].split()[0] == "0"
    assert limits["Max cpu time"].split()[0] != "unlimited"


@pytest.mark.slow
def test_of_conflicts_that_are_too_large_to_be_shown_the_first_are_returned():
    def table(value):
        return parquet(
            {"id": pa.int64(), "v": pa.string()}, [(i, value * (4 << 20)) for i in range(8)]
        )

    strategy = make_strategy("rows", {"key": "id"})
    sides = {"base": table("a"), "source": table("b"), "destination": table("c")}
    run = run_strategy(strategy, "t.parquet", **sides)
    assert [conflict.key for conflict in run.conflicts] == [{"id": 0}, {"id": 1}]


SCRIPT = """
from pathlib import Path
from anabranch.versioning.strategies.table_processes import table_process
table_process.prepare()
names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
print(*(name for name in names if name != "jemalloc_bg_thd"))
"""


@pytest.mark.slow
def test_no_thread_is_lost_by_a_fork():
    """Only jemalloc's own, which it starts again in the process that is forked."""
    environment = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert len(ran.stdout.split()) == 1, ran.stdout


@pytest.mark.parametrize(
    ("strategy", "library"),
    [("rows", "duckdb"), ("rows", "pyarrow"), ("delta", "pyarrow"), ("iceberg", "fastavro")],
)
def test_a_library_that_is_not_installed_is_an_error_before_the_merge(
    strategy, library, monkeypatch
):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(NotSupported, match=f"the strategy {strategy} needs ") as refused:
        make_strategy(strategy, {})
    assert refused.value.kind == "library_missing"
