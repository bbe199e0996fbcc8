"""Rows land on a branch, and are merged if they satisfy a Pandera schema."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pandera.pandas as pa

import anabranch

__all__ = ["SCHEMA", "publish"]
PATH = "flights/delays.csv"
SCHEMA = pa.DataFrameSchema(
    {"id": pa.Column(int, unique=True), "delay": pa.Column(int, pa.Check.in_range(-60, 1440))},
    strict=True,
)


def publish(folder: str | Path, branch: str, rows: Sequence[str]) -> list[str]:
    """Returns what is wrong with the rows; without a complaint they are on `main`."""
    with anabranch.open(folder) as lake:
        lake.branches.create("flights", branch, "main")
        lake.objects.upload("flights", branch, PATH, ["\n".join(rows).encode()])
        lake.commits.commit("flights", branch, message="Load delays")
        try:
            SCHEMA.validate(pd.read_csv(lake.objects.open("flights", branch, PATH)), lazy=True)
        except pa.errors.SchemaErrors as error:
            return [f"{case.column}: {case.check}" for case in error.failure_cases.itertuples()]
        lake.refs.merge("flights", branch, "main")
        return []


if __name__ == "__main__":
    print(publish(sys.argv[1], sys.argv[2], sys.argv[3:]))
