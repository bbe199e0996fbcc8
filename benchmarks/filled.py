"""A folder with a repository in it, for benchmarks of a server."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.testing.lake import lake_of

__all__ = ["REPOSITORY", "filled_folder", "path_of"]

REPOSITORY = "benchmark"


def path_of(number: int) -> str:
    """Returns an object's path: 1,000 objects in a folder, 100 folders in one above."""
    folder, leaf = number // 100_000, number // 1000 % 100
    return f"data/{folder:02d}/{leaf:03d}/object-{number:08d}.parquet"


@contextmanager
def filled_folder(objects: int, database: str = "") -> Iterator[Path]:
    """Gives a folder with so many objects in it, and removes it afterwards; their references are
    in the PostgreSQL database of that connection string, if there is one.
    """
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder:
        began = time.perf_counter()
        _fill(Path(folder), objects, database)
        print(f"{objects:,} objects committed in {time.perf_counter() - began:.1f} s")
        yield Path(folder)


def _fill(folder: Path, objects: int, database: str) -> None:
    """Commits so many objects, which have no bytes, to the branch `main`."""
    with lake_of(folder, database) as lake:
        repository = lake.repositories.create(REPOSITORY, f"local://{REPOSITORY}")
        records = (
            (
                path_of(number).encode(),
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
