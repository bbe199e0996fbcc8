"""The data set of server benchmarks: a data folder with one repository."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.testing.lake import lake_of

__all__ = ["REPOSITORY", "create_dataset", "object_path"]

REPOSITORY = "benchmark"


def object_path(number: int) -> str:
    """Returns an object's path: folders have 1,000 objects, and their parents 100 folders."""
    folder, leaf = number // 100_000, number // 1000 % 100
    return f"data/{folder:02d}/{leaf:03d}/object-{number:08d}.parquet"


@contextmanager
def create_dataset(objects: int, database: str = "") -> Iterator[Path]:
    """Creates a data folder with a number of objects, yields it, and removes it afterwards. If
    `database` is a PostgreSQL connection string, that database holds the references.
    """
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder:
        began = time.perf_counter()
        _fill(Path(folder), objects, database)
        print(f"{objects:,} objects committed in {time.perf_counter() - began:.1f} s")
        yield Path(folder)


def _fill(folder: Path, objects: int, database: str) -> None:
    """Commits a number of objects, without storing any bytes, to the branch `main`."""
    with lake_of(folder, database) as lake:
        repository = lake.repositories.create(REPOSITORY, f"local://{REPOSITORY}")
        records = (
            (
                object_path(number).encode(),
                kernel.encode_entry(
                    f"data/g000000000000000000/{number:020d}",
                    1,
                    1_700_000_000,
                    0,
                    1024,
                    f"{number:032x}",
                    {},
                    "application/octet-stream",
                ),
            )
            for number in range(objects)
        )
        written = kernel.write_tree(records, lake.core.trees.write_folder(repository))
        lake.commits.commit(
            REPOSITORY,
            "main",
            message="All objects",
            committer="benchmark",
            source_metarange=written.metarange_id,
        )
