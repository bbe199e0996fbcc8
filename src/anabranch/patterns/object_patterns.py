"""Patterns of paths, as DuckDB has them: `month=*/[ab]?.parquet`, `logs/**/*.csv`.

`*` and `?` do not match slashes; `**` is any number of folders, none included. A folder or a name
is matched as `glob.py` does, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from anabranch.patterns.glob import glob

__all__ = ["ObjectPattern"]

_SPECIAL = re.compile(r"[*?\[{\\]")
_ANY_FOLDERS = "**"


class ObjectPattern:
    """A parsed pattern; `prefix` is the text that all matching paths begin with. Raises Invalid for
    a malformed one.
    """

    def __init__(self, pattern: str) -> None:
        special = _SPECIAL.search(pattern)
        self.is_literal = special is None
        self.prefix = pattern[: special.start()] if special else pattern
        self._segments = pattern.split("/")
        for segment in self._segments:
            if segment != _ANY_FOLDERS:
                glob(segment)

    def matches(self, path: str) -> bool:
        """Returns whether a path matches as a whole."""
        return len(self._segments) in self._reached(path.split("/"))

    def select(self, paths: Iterable[str]) -> Iterator[str]:
        """Yields the paths that match. The folders of paths that follow one another are matched
        once.
        """
        folder, reached = "", self._reached([])
        for path in paths:
            end = path.rfind("/") + 1
            if path[:end] != folder:
                folder = path[:end]
                reached = self._reached(folder.split("/")[:-1])
            if reached and len(self._segments) in self._step(reached, path[end:]):
                yield path

    def _reached(self, segments: Sequence[str]) -> set[int]:
        """Returns the positions in the pattern that follow segments of a path, none if they do not
        match.
        """
        reached = self._skip({0})
        for segment in segments:
            reached = self._step(reached, segment)
            if not reached:
                break
        return reached

    def _step(self, reached: set[int], segment: str) -> set[int]:
        return self._skip({after for at in reached for after in self._after(at, segment)})

    def _after(self, at: int, segment: str) -> set[int]:
        """Returns the positions in the pattern that follow `at` with one segment of a path."""
        if at == len(self._segments):
            return set()
        wanted = self._segments[at]
        if wanted == _ANY_FOLDERS:
            return {at}
        return {at + 1} if glob(wanted).matches(segment) else set()

    def _skip(self, reached: set[int]) -> set[int]:
        """Returns the positions and those behind each `**`, which may match nothing."""
        for at in sorted(reached):
            after = at
            while after < len(self._segments) and self._segments[after] == _ANY_FOLDERS:
                after += 1
                reached.add(after)
        return reached
