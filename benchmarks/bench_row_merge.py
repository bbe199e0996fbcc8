"""Times the strategy `rows` on three files, beside DuckDB's full outer join of them.

    python benchmarks/bench_row_merge.py --rows 1000000 --format csv

Prints seconds, the ratio of the medians, and the peak memory of a process that merges.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from anabranch.testing.strategy_runs import run_strategy
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


def merge(files: dict[str, Path]) -> int:
    """Merges the files and returns the length of the result in bytes."""
    contents = {side: file.read_bytes() for side, file in files.items()}
    path = f"t{files['base'].suffix}"
    run = run_strategy(rows_strategy({"key": "id"}), path, **contents)
    assert not run.conflicts
    return len(run.files[path] or b"")


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
        merge({side: Path(given.merge_in, f"{side}.{given.format}") for side in SIDES})
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_files(folder, given.rows, given.format)
        times: dict[str, list[float]] = {"merge": [], "join": []}
        for _ in range(given.rounds):
            for kind, act in (
                ("merge", lambda: merge(files)),
                ("join", lambda: join(files, folder)),
            ):
                start = time.perf_counter()
                act()
                times[kind].append(time.perf_counter() - start)
        medians = {kind: statistics.median(each) for kind, each in times.items()}
        command = [sys.executable, __file__, "--merge-in", name, "--format", given.format]
        peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        print(f"{given.rows} rows: merge {medians['merge']:.2f} s, join {medians['join']:.2f} s")
        print(f"ratio {medians['merge'] / medians['join']:.2f}; peak memory {peak} MiB")


if __name__ == "__main__":
    main()
