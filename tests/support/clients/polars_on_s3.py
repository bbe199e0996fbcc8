"""What tests do with polars over S3, for a process of its own.

Once polars has used an object store, one of its threads reads an environment variable every few
moments, as long as the process lives. Most tests change the environment, and the C library allows
no thread to read it meanwhile: now and then `getenv` crashes.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

__all__ = [
    "ROWS",
    "collect",
    "round_trip",
    "round_trip_of_large",
    "round_trip_of_parquet",
    "sum_of_depths",
    "write",
    "write_partitions",
    "write_parts",
]

ROWS = 3000
_FRAME = pl.DataFrame(
    {
        "depth": range(ROWS),
        "sea": [("north", "south sea", "é 1+2%")[row % 3] for row in range(ROWS)],
    }
)
Storage = dict[str, Any]


def round_trip_of_parquet(url: str, storage: Storage) -> tuple[list[int], list[str]]:
    """Writes and reads the frame; returns its depths from 2990 on, and the names of its columns."""
    _FRAME.write_parquet(url, storage_options=storage, row_group_size=500)
    assert_frame_equal(pl.read_parquet(url, storage_options=storage), _FRAME)
    scanned = pl.scan_parquet(url, storage_options=storage)
    deep = scanned.filter(pl.col("depth") >= 2990).select("depth").collect()
    return deep["depth"].to_list(), scanned.collect_schema().names()


def write_parts(folder: str, storage: Storage) -> int:
    """Writes the frame as four files, and reads all of them; returns how many rows two have."""
    for number in range(4):
        part = _FRAME.slice(number * 750, 750)
        part.write_parquet(f"{folder}/{number}.parquet", storage_options=storage)
    whole = pl.scan_parquet(f"{folder}/*.parquet", storage_options=storage)
    assert_frame_equal(whole.collect(), _FRAME)
    found = pl.scan_parquet(f"{folder}/[02].parquet", storage_options=storage)
    return int(found.select(pl.len()).collect().item())


def write_partitions(folder: str, storage: Storage) -> int:
    """Writes the frame by seas, and reads it; returns how many rows a sea with an odd name has."""
    by_sea = pl.PartitionBy(folder, key="sea", include_key=False)
    _FRAME.lazy().sink_parquet(by_sea, storage_options=storage)
    read = pl.scan_parquet(folder, hive_partitioning=True, storage_options=storage)
    assert_frame_equal(read.sort("depth").select("depth", "sea").collect(), _FRAME)
    return int(read.filter(pl.col("sea") == "é 1+2%").select(pl.len()).collect().item())


def round_trip(kind: str, url: str, storage: Storage) -> None:
    """Writes and reads the frame in a format."""
    getattr(_FRAME.lazy(), f"sink_{kind}")(url, storage_options=storage)
    read = getattr(pl, f"scan_{kind}")(url, storage_options=storage)
    assert_frame_equal(read.collect(), _FRAME)


def round_trip_of_large(url: str, rows: int, storage: Storage) -> int:
    """Writes the numbers below `rows` in another order; returns the sum of those that it reads."""
    large = pl.DataFrame({"n": pl.int_range(rows, eager=True).shuffle(7)})
    large.write_parquet(url, storage_options=storage, compression="uncompressed")
    read = pl.scan_parquet(url, storage_options=storage)
    return int(read.select(pl.col("n").sum()).collect().item())


def write(url: str, deeper: int, storage: Storage) -> None:
    """Writes the frame with all depths increased."""
    frame = _FRAME.with_columns(pl.col("depth") + deeper)
    frame.write_parquet(url, storage_options=storage)


def sum_of_depths(urls: list[str], storage: Storage) -> int:
    """Returns the sum of all depths of several files, by one query."""
    scans = [pl.scan_parquet(url, storage_options=storage) for url in urls]
    return int(pl.concat(scans).select(pl.col("depth").sum()).collect().item())


def collect(url: str, storage: Storage) -> None:
    """Reads a file. Raises FileNotFoundError if there is none."""
    pl.scan_parquet(url, storage_options=storage).collect()
