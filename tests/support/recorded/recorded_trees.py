"""Trees that a real lakeFS 1.84.0 wrote, with the objects that they must hold.

`tests/data/lakefs-1.84-trees/README.md` describes those of this repository. The environment
variable `ANABRANCH_FIXTURES` may name a folder with a larger recording, `written-by-lakefs-1.84`:
two commits, of 120,000 objects each. Tests of it are slow.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anabranch import _kernel

__all__ = ["RECORDINGS", "RecordedTrees", "load_trees", "table_folder"]

Objects = dict[str, Mapping[str, Any]]
"""Objects by path, in the order of the bytes of paths, as the API shows them."""

_DATA = Path(__file__).parents[2] / "data" / "lakefs-1.84-trees"
_DEFAULTS = {"metadata": {}, "content_type": "application/octet-stream"}

RECORDINGS: list[Any] = ["small"]
"""Names of recordings, as parameters of tests and fixtures."""
if "ANABRANCH_FIXTURES" in os.environ:
    RECORDINGS.append(pytest.param("large", marks=pytest.mark.slow))


@dataclass(frozen=True)
class RecordedTrees:
    """The tables and commits of a repository, and the changes that each commit was made of."""

    tables: Path
    """The folder of tables, whose names are their ids."""
    commits: Mapping[str, Mapping[str, Any]]
    """The commits by their message, as the API shows them; that of the repository's creation has
    no tree."""
    changes: Mapping[str, Mapping[str, Any]]
    """What was staged and deleted for each commit but merges, by the commit's message."""

    def tree(self, message: str) -> _kernel.Tree:
        """Returns the tree of a commit."""
        return self.open(self.commits[message]["meta_range_id"])

    def open(self, metarange_id: str, beside: Path | None = None) -> _kernel.Tree:
        """Returns a tree whose tables are in the recorded folder or in the folder `beside`."""

        def locate(table_id: str) -> str:
            other = None if beside is None else beside / table_id
            return str(other if other is not None and other.exists() else self.tables / table_id)

        return _kernel.Tables().tree(metarange_id, locate)

    def parents(self, message: str) -> list[str]:
        """Returns the messages of a commit's parents, without that of the repository's creation."""
        messages = {commit["id"]: name for name, commit in self.commits.items()}
        parents = [messages[commit_id] for commit_id in self.commits[message]["parents"]]
        return [parent for parent in parents if self.commits[parent]["meta_range_id"]]

    def objects(self, message: str) -> Objects:
        """Returns what the tree of a commit must hold."""
        parents = self.parents(message)
        if len(parents) > 1:
            return self._merged(*parents)
        objects = dict(self.objects(parents[0])) if parents else {}
        changes = self.changes[message]
        for path in changes["deleted"]:
            del objects[path]
        objects |= {each["path"]: _DEFAULTS | each for each in changes["put"]}
        return dict(sorted(objects.items(), key=lambda item: item[0].encode()))

    def _merged(self, ours: str, theirs: str) -> Objects:
        """Returns a merge of two commits whose parent is the same and that do not conflict."""
        (base,) = self.parents(ours)
        assert self.parents(theirs) == [base]
        old, left, right = (self.objects(each) for each in (base, ours, theirs))
        merged = {}
        for path in sorted({*left, *right}, key=str.encode):
            chosen = left if right.get(path) == old.get(path) else right
            if path in chosen:
                merged[path] = chosen[path]
        return merged


def table_folder(name: str) -> Path:
    """Returns the folder of the tables of a recording."""
    return _DATA / "tables" if name == "small" else _large_folder() / "_lakefs"


def load_trees(name: str = "small") -> RecordedTrees:
    """Returns the trees of this repository, `small`, or the `large` ones."""
    folder, changes = (_DATA, _small()) if name == "small" else (_large_folder(), _large())
    listed = json.loads((folder / "commits.json").read_text(encoding="utf-8"))["commits"]
    return RecordedTrees(table_folder(name), {each["message"]: each for each in listed}, changes)


def _large_folder() -> Path:
    return Path(os.environ["ANABRANCH_FIXTURES"]) / "written-by-lakefs-1.84"


def _small() -> dict[str, Any]:
    changes: dict[str, Any] = json.loads(gzip.decompress((_DATA / "changes.json.gz").read_bytes()))
    return changes


def _large() -> dict[str, Any]:
    folder = _large_folder()
    with gzip.open(folder / "first-commit-objects.jsonl.gz", "rt", encoding="utf-8") as lines:
        first = {"put": [json.loads(line) for line in lines], "deleted": []}
    second = json.loads((folder / "second-commit-changes.json").read_text(encoding="utf-8"))
    put = [*second["replaced"], *second["added"]]
    return {"first": first, "second": {"put": put, "deleted": second["deleted"]}}
