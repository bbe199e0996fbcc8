"""A Hugging Face dataset of a commit, changed by `map`, and written to a branch."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pyarrow.parquet as pq
from datasets import Dataset

import anabranch

__all__ = ["load", "relabel"]
PATH = "labels.parquet"


def load(folder: str | Path, reference: str) -> Dataset:
    """Returns the rows at a reference."""
    with anabranch.open(folder) as lake:
        return Dataset(pq.read_table(lake.objects.open("images", reference, PATH)))


def relabel(folder: str | Path, branch: str, before: str, after: str) -> int:
    """Replaces a label on a new branch, and returns how many rows have it."""
    content = io.BytesIO()
    labels = load(folder, "main").map(lambda row: {"label": row["label"].replace(before, after)})
    labels.to_parquet(content)
    with anabranch.open(folder) as lake:
        lake.branches.create("images", branch, "main")
        lake.objects.upload("images", branch, PATH, [content.getvalue()])
        lake.commits.commit("images", branch, message=f"{before} is {after}")
    return int(labels["label"][:].count(after))


if __name__ == "__main__":
    print(relabel(*sys.argv[1:5]))
