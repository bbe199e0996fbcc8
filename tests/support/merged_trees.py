"""Three-way merges of folders, path by path, in which a strategy settles the conflicts."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from anabranch.testing.strategy_runs import StrategyRun, run_strategy
from anabranch.versioning.strategies.contract import MergeStrategy

__all__ = ["branch_folder", "conflicting_paths", "merge_folders", "read_tree"]

Tree = Mapping[str, bytes]


def read_tree(folder: Path) -> dict[str, bytes]:
    """Returns the files of a folder by their paths."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def branch_folder(folder: Path, name: str) -> Path:
    """Returns a copy of a folder beside it."""
    return Path(shutil.copytree(folder, folder.parent / name))


def conflicting_paths(base: Tree, source: Tree, destination: Tree) -> list[str]:
    """Returns the paths that both sides changed differently, in order."""
    found = []
    for path in sorted({*base, *source, *destination}, key=str.encode):
        was, theirs, ours = (tree.get(path) for tree in (base, source, destination))
        if was not in (theirs, ours) and theirs != ours:
            found.append(path)
    return found


def merge_folders(
    strategy: MergeStrategy, base: Path, source: Path, destination: Path, merged: Path
) -> StrategyRun:
    """Merges folders into the folder `merged`, which is not made if the content conflicts. The
    strategy is asked about the first path that conflicts, as a merge does, and must settle all.
    """
    trees = [read_tree(folder) for folder in (base, source, destination)]
    conflicts = conflicting_paths(*trees)
    assert conflicts, "nothing conflicts, and a strategy is not asked"
    run = run_strategy(strategy, conflicts[0], base=trees[0], source=trees[1], destination=trees[2])
    if run.conflicts:
        return run
    assert run.files.keys() >= set(conflicts)
    for path in {*trees[0], *trees[1], *trees[2], *run.files}:
        was, theirs, ours = (tree.get(path) for tree in trees)
        content = run.files.get(path, theirs if ours == was else ours)
        if content is not None:
            file = merged / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return run
