"""Pins a training set by a tag: a later run reads the same rows, and sees what has changed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import polars as pl

import anabranch

__all__ = ["run"]
PATH = "labels.parquet"


def run(folder: str | Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows of the tag and those of `main` after it has moved on."""
    with anabranch.open(folder) as lake:

        def write(frame: pl.DataFrame, message: str) -> None:
            content = io.BytesIO()
            frame.write_parquet(content)
            lake.objects.upload("images", "main", PATH, [content.getvalue()])
            lake.commits.commit("images", "main", message=message)

        lake.repositories.create("images")
        write(pl.DataFrame({"image": ["a", "b"], "label": ["cat", "dog"]}), "Label two images")
        lake.tags.create("images", "training-1", "main")
        write(pl.DataFrame({"image": ["a", "b"], "label": ["cat", "fox"]}), "Correct a label")

        since = lake.refs.diff_rows("images", "training-1", "main", PATH, key=["image"], amount=10)
        print([(row.key, row.left, row.right) for row in since.items])
        opened = [lake.objects.open("images", name, PATH) for name in ("training-1", "main")]
        return pl.read_parquet(opened[0]), pl.read_parquet(opened[1])


if __name__ == "__main__":
    print(*run(sys.argv[1]), sep="\n")
