"""Corrects a table with pandas on a branch, looks at the rows that differ, and merges."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pandas as pd

import anabranch

__all__ = ["run"]


def run(folder: str | Path) -> pd.DataFrame:
    """Returns the table on `main` after the merge; `folder` is the lake's."""
    with anabranch.open(folder) as lake:

        def write(branch: str, frame: pd.DataFrame, message: str) -> None:
            content = io.BytesIO()
            frame.to_parquet(content)
            lake.objects.upload("sea", branch, "depth.parquet", [content.getvalue()])
            lake.commits.commit("sea", branch, message=message)

        lake.repositories.create("sea")
        write("main", pd.DataFrame({"place": ["Mariana", "Tonga"], "metres": [10935, 10820]}), "1")
        lake.branches.create("sea", "correct", "main")
        frame = pd.read_parquet(lake.objects.open("sea", "correct", "depth.parquet"))
        frame.loc[frame["place"] == "Mariana", "metres"] = 10920
        write("correct", frame, "Measured again")

        page = lake.refs.diff_rows("sea", "main", "correct", "depth.parquet", amount=10)
        print(*((row.kind, row.left, row.right) for row in page.items))
        lake.refs.merge("sea", "correct", "main")
        return pd.read_parquet(lake.objects.open("sea", "main", "depth.parquet"))


if __name__ == "__main__":
    print(run(sys.argv[1]))
