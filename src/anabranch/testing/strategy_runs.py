"""Runs merge strategies on trees that are dictionaries, without a repository.

run = run_strategy(strategy, "a.csv", base=b"...", source=b"...", destination=b"...")
assert run.conflicts == []
assert run.files["a.csv"] == b"..."
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeStrategy,
    PathConflict,
    Side,
)

__all__ = ["StrategyRun", "path_conflict", "run_strategy"]

Tree = Mapping[str, bytes]
_SIDES: Sequence[Side] = ("base", "source", "destination")


@dataclass(frozen=True)
class StrategyRun:
    """The result of a strategy: the conflicts, and the content of each path that it has settled,
    None for a path that it deleted. `table_files` are the new files of tables of the Iceberg
    catalog, by the ids of their areas, a slash, and their paths.
    """

    conflicts: Sequence[ContentConflict]
    files: Mapping[str, bytes | None]
    table_files: Mapping[str, bytes] = field(default_factory=dict)


def run_strategy(
    strategy: MergeStrategy,
    path: str,
    *,
    base: bytes | Tree | None = None,
    source: bytes | Tree | None = None,
    destination: bytes | Tree | None = None,
    table_files: Tree | None = None,
) -> StrategyRun:
    """Asks a strategy about a path. Each side is a tree, or the content of the path alone; None if
    the side does not have the path. `table_files` are the files of tables of the Iceberg catalog,
    by the ids of their areas, a slash, and their paths.
    """
    sides = {"base": base, "source": source, "destination": destination}
    trees = {side: _tree(path, given) for side, given in sides.items()}
    with tempfile.TemporaryDirectory() as folder:
        output = _Output(trees)
        conflict = _Conflict(path, trees, folder, table_files or {})
        conflicts = strategy.merge(conflict, output)
    if conflicts:
        return StrategyRun(list(conflicts), {})
    return StrategyRun([], output.files, output.table_files)


def path_conflict(
    path: str,
    folder: str,
    *,
    base: bytes | Tree | None = None,
    source: bytes | Tree | None = None,
    destination: bytes | Tree | None = None,
) -> PathConflict:
    """Returns the conflict about which `run_strategy` asks. `folder` is for its files."""
    sides = {"base": base, "source": source, "destination": destination}
    trees = {side: _tree(path, given) for side, given in sides.items()}
    return _Conflict(path, trees, folder, {})


def _tree(path: str, given: bytes | Tree | None) -> Tree:
    if given is None:
        return {}
    return {path: given} if isinstance(given, bytes) else given


@dataclass(frozen=True)
class _Version:
    content: bytes
    file: Path
    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.content)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.content)

    def path(self) -> str:
        self.file.write_bytes(self.content)
        return str(self.file)


class _Conflict:
    def __init__(
        self, path: str, trees: Mapping[str, Tree], folder: str, table_files: Tree
    ) -> None:
        self.path = path
        self.repository = "tests"
        self.commits: Mapping[Side, str] = {side: side for side in _SIDES}
        self.work_folder = folder
        self._trees = trees
        self._table_files = table_files
        self.base = self.read("base", path)
        self.source = self.read("source", path)
        self.destination = self.read("destination", path)

    def read(self, side: Side, path: str) -> _Version | None:
        return self._version(self._trees[side].get(path), f"{side}-{path}")

    def read_table_file(self, area: str, path: str) -> _Version | None:
        return self._version(self._table_files.get(f"{area}/{path}"), f"{area}-{path}")

    def _version(self, content: bytes | None, name: str) -> _Version | None:
        if content is None:
            return None
        return _Version(content, Path(self.work_folder, name.encode().hex()[-200:]))

    def list(self, side: Side, prefix: str) -> Iterator[str]:
        paths = [path for path in self._trees[side] if path.startswith(prefix)]
        yield from sorted(paths, key=str.encode)


class _Output:
    def __init__(self, trees: Mapping[str, Tree]) -> None:
        self._trees = trees
        self.files: dict[str, bytes | None] = {}
        self.table_files: dict[str, bytes] = {}

    @contextmanager
    def create(
        self,
        path: str,
        *,
        content_type: str | None = None,  # noqa: ARG002
        metadata: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> Iterator[BinaryIO]:
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            self.files[path] = file.read()

    @contextmanager
    def create_table_file(self, area: str, path: str) -> Iterator[BinaryIO]:
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            self.table_files[f"{area}/{path}"] = file.read()

    def take(self, path: str, side: Side) -> None:
        self.files[path] = self._trees[side].get(path)

    def delete(self, path: str) -> None:
        self.files[path] = None
