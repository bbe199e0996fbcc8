"""Branches of a lake's repository `sea` as folders."""

from __future__ import annotations

from pathlib import Path

from anabranch.library import Lake
from anabranch.model.objects.stat import Stat
from support.merged_trees import read_tree

__all__ = ["checkout", "commit_folder"]


def commit_folder(lake: Lake, branch: str, folder: Path) -> None:
    """Makes a branch what a folder is, but for files at the root, and commits."""
    before, after = _stored(lake, branch), read_tree(folder)
    lake.objects.delete_many("sea", branch, sorted(before.keys() - after.keys()))
    for path, content in after.items():
        if before.get(path) != content:
            lake.objects.upload("sea", branch, path, [content])
    lake.commits.commit("sea", branch, message="Data", committer="ada")


def checkout(lake: Lake, branch: str, folder: Path) -> Path:
    """Writes a branch to a folder, and returns it."""
    for path, content in _stored(lake, branch).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def _stored(lake: Lake, branch: str) -> dict[str, bytes]:
    items = lake.objects.listing("sea", branch, amount=1000).items
    paths = [item.path for item in items if isinstance(item, Stat) and "/" in item.path]
    return {path: lake.objects.open("sea", branch, path).read_bytes() for path in paths}
