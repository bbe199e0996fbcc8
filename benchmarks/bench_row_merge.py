"""Times the strategy `rows` on three files, in a process of its own as servers run it and in this
one, beside DuckDB's full outer join of them.

    python benchmarks/bench_row_merge.py --rows 1000000 --format csv

Prints medians of seconds and of processor time, the ratio to the join, and the peak memory of a
process that merges.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import duckdb

from anabranch.child_process.descendants import children
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.contract import MergeStrategy
from anabranch.versioning.strategies.registry import make_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

COLUMNS = "i AS id, i % 1000 AS a, 'text ' || (i % 77) AS b, i * 0.5 AS c, i % 3 = 0 AS d"
SIDES = {
    "base": f"SELECT {COLUMNS} FROM range({{rows}}) t(i)",
    "source": f"SELECT * REPLACE (CASE WHEN id % 100 = 1 THEN -1 ELSE a END AS a) "
    f"FROM (SELECT {COLUMNS} FROM range({{rows}} + 1000) t(i))",
    "destination": f"SELECT * REPLACE (CASE WHEN id % 100 = 2 THEN -1 ELSE a END AS a) "
    f"FROM (SELECT {COLUMNS} FROM range({{rows}}) t(i)) WHERE id % 1000 <> 5",
}


def write_files(folder: Path, rows: int, name: str) -> dict[str, Path]:
    """Writes the versions: 1 % of the rows change on each side, some are added and removed."""
    files = {side: folder / f"{side}.{name}" for side in SIDES}
    for side, query in SIDES.items():
        duckdb.sql(f"COPY ({query.format(rows=rows)}) TO '{files[side]}' (FORMAT {name})")
    return files


def merge(files: dict[str, Path], strategy: MergeStrategy) -> int:
    """Merges the files and returns the length of the result in bytes."""
    contents = {side: file.read_bytes() for side, file in files.items()}
    path = f"t{files['base'].suffix}"
    run = run_strategy(strategy, path, **contents)
    assert not run.conflicts
    return len(run.files[path] or b"")


def processor_seconds() -> float:
    """Returns the processor time of this process, and of those that have ended."""
    seconds = time.process_time()
    ticks = os.sysconf("SC_CLK_TCK")
    for process in children(os.getpid()):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        seconds += sum(map(int, fields[11:15])) / ticks
    return seconds


def join(files: dict[str, Path], folder: Path) -> None:
    """Writes the full outer join of the files."""
    base, source, destination = (f"'{files[side]}'" for side in SIDES)
    duckdb.sql(
        f"COPY (SELECT * FROM {destination} d FULL JOIN {source} s USING (id) "
        f"FULL JOIN {base} b USING (id)) TO '{folder / 'join.parquet'}' (FORMAT parquet)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--format", choices=["parquet", "csv"], default="parquet")
    parser.add_argument("--merge-in", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.merge_in:
        files = {side: Path(given.merge_in, f"{side}.{given.format}") for side in SIDES}
        merge(files, rows_strategy({"key": "id"}))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        return
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        files = write_files(folder, given.rows, given.format)
        strategies = {
            "in a process": make_strategy("rows", {"key": "id"}),
            "here": rows_strategy({"key": "id"}),
        }
        acts = {name: partial(merge, files, each) for name, each in strategies.items()}
        acts["join"] = partial(join, files, folder)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in acts}
        for number in range(given.rounds + 1):
            for name, act in acts.items():
                start, used = time.perf_counter(), processor_seconds()
                act()
                if number:  # the first starts the process that has the libraries
                    spent = time.perf_counter() - start, processor_seconds() - used
                    times[name].append(spent)
        medians = {
            name: [statistics.median(column) for column in zip(*each, strict=True)]
            for name, each in times.items()
        }
        command = [sys.executable, __file__, "--merge-in", parent, "--format", given.format]
        peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        for name, (seconds, used) in medians.items():
            ratio = seconds / medians["join"][0]
            print(
                f"{given.rows} rows, {name}: {seconds:.3f} s, processor {used:.3f} s, {ratio:.2f}"
            )
        print(f"peak memory {peak} MiB")


if __name__ == "__main__":
    main()
