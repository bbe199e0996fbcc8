"""Searches among the objects of a commit with SQL: by user metadata, size, content type, time and
path; a total by type, a change and the history. Each is one query in a process of its own.

`--objects 10000000` takes a minute to build the commit; the default is 2,000,000 objects. Reported
is the processor time of this process and of the query process together.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.access.actors.actor import Actor
from anabranch.child_process.descendants import children
from anabranch.library import Lake
from anabranch.pipelines.metadata_columns import OBJECTS
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries
from anabranch.testing.lake import lake_of

_BATCH = 200_000
_STARTS = 20
_TIME = 1_700_000_000
_WHERE = {
    "user metadata": "metadata['owner'] = 'team-5' AND metadata['run'] = 'run-0000776'",
    "user metadata, by a pattern": "metadata['run'] LIKE '%00777'",
    "size": "size > 1073000000",
    "content type": "content_type = 'text/x-log'",
    "time": "last_modified BETWEEN '2023-11-15 00:00:00Z' AND '2023-11-15 00:10:00Z'",
    "path": "path LIKE 'data/007/%' AND size < 1000000",
    "all of these": "metadata['owner'] = 'team-5' AND size > 1000000 AND "
    "content_type <> 'text/x-log' AND last_modified > '2023-11-15 00:00:00Z'",
}
_QUERIES = {
    **{
        f"objects by {name}": f"SELECT path, size FROM objects('lake', 'main') WHERE {condition}"
        for name, condition in _WHERE.items()
    },
    "object_metadata by key and value": "SELECT path FROM object_metadata('lake', 'main') "
    "WHERE key = 'owner' AND value = 'team-5'",
    "bytes by content type": "SELECT content_type, count(*), sum(size) FROM "
    "objects('lake', 'main') GROUP BY ALL",
    "count": "SELECT count(*) FROM objects('lake', 'main')",
    "changes: all, with their objects": "SELECT count(*), sum(c.right.size) FROM "
    "changes('lake', 'main~1', 'main') c",
    "changes: all paths": "SELECT count(path) FROM changes('lake', 'main~1', 'main')",
    "changes below a prefix": "SELECT path FROM changes('lake', 'main~1', 'main') "
    "WHERE path LIKE 'data/007/00%'",
}


def _batch(schema: pa.Schema, start: int, end: int) -> pa.RecordBatch:
    numbers = np.arange(start, end)
    ids = numbers.tolist()
    pairs = [text for n in ids for text in (f"team-{n % 97}", f"run-{n // 50:07d}")]
    columns = {
        "path": [f"data/{n // 100_000:03d}/{n // 1000 % 100:03d}/part-{n:08d}" for n in ids],
        "physical_address": [f"data/g000000000000000000/{n:020d}" for n in ids],
        "address_type": np.ones(len(ids), np.int32),
        "last_modified": pa.array((_TIME + numbers) * 1_000_000).cast(pa.timestamp("us", "UTC")),
        "size": numbers * 7919 % (1 << 30),
        "checksum": [f"{n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128):032x}" for n in ids],
        "metadata": pa.MapArray.from_arrays(
            np.arange(0, 2 * len(ids) + 1, 2, dtype=np.int32), ["owner", "run"] * len(ids), pairs
        ),
        "content_type": pc.if_else(numbers % 1000 == 0, "text/x-log", "application/parquet"),
    }
    return pa.RecordBatch.from_arrays(
        [pa.array(columns[name]) for name in schema.names], schema=schema
    )


def _fill(lake: Lake, objects: int) -> None:
    repository = lake.repositories.create("lake", "local://lake")
    schema = OBJECTS.append(pa.field("address_type", pa.int32()))

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, objects, _BATCH):
            yield _batch(schema, start, min(start + _BATCH, objects))

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    written = kernel.write_arrow(reader, lake.core.trees.write_folder(repository))
    lake.commits.commit(
        *("lake", "main"), message="All", committer="bench", source_metarange=written.metarange_id
    )


def _processor_seconds() -> float:
    """Returns the processor time of this process and of its descendants, those that ended included:
    the processes of queries are children of the fork server.
    """
    ticks = 0
    for process in (os.getpid(), *children(os.getpid())):
        while process != os.getpid() and children(process):
            time.sleep(0.001)  # its time is counted when it has ended
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _measure(queries: Queries, sql: str) -> tuple[float, float, int]:
    began, used = time.perf_counter(), _processor_seconds()
    result = queries.query(
        *(Actor.administrator("bench"), sql),
        repository="lake",
        reference="main",
        tables={},
        max_rows=10_000,
    )
    return time.perf_counter() - began, _processor_seconds() - used, len(result["rows"])


def _measure_starts(queries: Queries) -> None:
    figures = [_measure(queries, "SELECT 1")[:2] for _ in range(_STARTS)]
    elapsed, used = (1000 * sum(column) / _STARTS for column in zip(*figures, strict=True))
    print(f"a query of no table, mean of {_STARTS}: {elapsed:.0f} ms, {used:.0f} ms of CPU")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=2_000_000)
    objects = parser.parse_args().objects
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder,
        lake_of(folder) as lake,
    ):
        began = time.perf_counter()
        _fill(lake, objects)
        print(f"{objects:,} objects committed in {time.perf_counter() - began:.1f} s")
        queries = Queries(lake, QueryLimits(seconds=120, threads=1))
        _measure(queries, "SELECT 1")  # starts the fork server
        print(f"{'':<40} {'rows':>9} {'CPU s':>9} {'elapsed s':>9}")
        for name, sql in _QUERIES.items():
            elapsed, used, rows = _measure(queries, sql)
            print(f"{name:<40} {rows:>9,} {used:>9.2f} {elapsed:>9.2f}")
        _measure_starts(queries)


if __name__ == "__main__":
    main()
