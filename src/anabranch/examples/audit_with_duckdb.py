"""Write, audit, publish: rows land on a branch, and are merged if DuckDB finds none wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow.csv

import anabranch

__all__ = ["publish"]


def publish(folder: str | Path, day: str, rows: Sequence[str]) -> bool:
    """Returns whether the rows of a day were published; else `main` stays as it was."""
    path = f"flights/{day}.csv"
    with anabranch.open(folder) as lake:
        if not lake.repositories.list(prefix="flights", amount=1).items:
            lake.repositories.create("flights")
        branch = f"load-{day}"
        lake.branches.create("flights", branch, "main")
        lake.objects.upload("flights", branch, path, ["\n".join(["id,delay", *rows]).encode()])
        lake.commits.commit("flights", branch, message=f"Load {day}")

        loaded = pyarrow.csv.read_csv(lake.objects.open("flights", branch, path))
        with duckdb.connect() as database:
            database.register("loaded", loaded)
            query = "SELECT count(*) FROM loaded WHERE delay > 720 OR id IS NULL"
            wrong = database.execute(query).fetchone()
        if wrong != (0,):
            return False  # the branch is kept, so that the rows can be examined
        lake.refs.merge("flights", branch, "main", message=f"Publish {day}")
        return True


if __name__ == "__main__":
    print(publish(sys.argv[1], "2024-05-06", sys.argv[2:]))
