"""The strategy `text`: merges text by lines, as `git merge-file` does.

git does it itself: its way of aligning lines is the one that users know. Line ends, and a missing
one at the end of a file, stay as they are.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from anabranch.errors import Conflict, Invalid, NotSupported
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    ObjectVersion,
    PathConflict,
)
from anabranch.versioning.strategies.git_process import run_git
from anabranch.versioning.strategies.text_regions import (
    TextRegion,
    base_starts,
    marker_length,
    read_regions,
)

__all__ = ["MAX_BYTES", "text_strategy"]

MAX_BYTES = 256 << 20
"""The largest version that is merged: git keeps all three in memory."""

_TIMEOUT_SECONDS = 120.0
_BINARY_BYTES = 8000
"""As in git, content is binary if a zero byte is among so many of its first bytes."""
_MAX_CONFLICTS = 1000
_MAX_VALUE_BYTES = 4000


def text_strategy(options: Mapping[str, Any]) -> _TextStrategy:
    """Returns the strategy, which has no options. Raises Invalid for some, NotSupported if git is
    not installed.
    """
    if options:
        raise Invalid(
            f"the strategy text has no option {min(options)!r}", kind="invalid_merge_options"
        )
    if shutil.which("git") is None:
        raise NotSupported(
            "the strategy text needs git, which is not installed on the server",
            kind="git_missing",
            hint="Install git.",
        )
    return _TextStrategy()


class _TextStrategy:
    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes the merged text, or returns the regions that conflict. Raises Conflict for binary
        content.
        """
        base, source, destination = conflict.base, conflict.source, conflict.destination
        if source is None or destination is None:
            side = "source" if source is None else "destination"
            return [ContentConflict(key={}, message=f"the {side} deleted the text")]
        _require_text("base", base)
        _require_text("source", source)
        _require_text("destination", destination)
        with (
            tempfile.NamedTemporaryFile(dir=conflict.work_folder) as empty,
            tempfile.TemporaryFile(dir=conflict.work_folder) as merged,
        ):
            ancestor = empty.name if base is None else base.path()
            ours, theirs = destination.path(), source.path()
            marker = marker_length((ancestor, ours, theirs))
            if marker is None:
                raise _failure("it has lines like conflict markers, of too many lengths")
            is_clean = _merge_file(ours, ancestor, theirs, marker, merged.fileno())
            merged.seek(0)
            if not is_clean:
                starts = base_starts(ancestor, theirs, ours, _TIMEOUT_SECONDS)
                lines = Path(ancestor).read_bytes().split(b"\n")
                return list(_conflicts(read_regions(merged, marker), lines, starts))
            with output.create(conflict.path) as stream:
                shutil.copyfileobj(merged, stream)
        return []


def _require_text(side: str, version: ObjectVersion | None) -> None:
    if version is None:
        return
    if version.size > MAX_BYTES:
        raise _failure(f"the {side} has {version.size} bytes; at most {MAX_BYTES} are merged")
    with version.open() as stream:
        if b"\0" in stream.read(_BINARY_BYTES):
            raise _failure(f"the {side} is binary, not text")


def _merge_file(ours: str, ancestor: str, theirs: str, marker: int, output: int) -> bool:
    """Writes the merge of three files to the file `output`, with conflict markers of this length;
    returns whether it has no conflicts.
    """
    command = ["merge-file", "-p", "--diff3", f"--marker-size={marker}"]
    done = run_git([*command, ours, ancestor, theirs], seconds=_TIMEOUT_SECONDS, output=output)
    if not 0 <= done.returncode <= 127:  # noqa: PLR2004  the number of conflicts, up to 127
        raise _failure(done.stderr.decode("utf-8", "replace").strip() or "git failed")
    return done.returncode == 0


def _conflicts(
    regions: Iterable[TextRegion], base: Sequence[bytes], starts: Sequence[int]
) -> Iterator[ContentConflict]:
    """Yields the first conflicts. `starts` are their first lines in the base, from 0."""
    end = 0
    for number, region in enumerate(islice(regions, _MAX_CONFLICTS)):
        lines = [line.removesuffix(b"\n") for line in region.base]
        start = starts[number] if number < len(starts) else end
        if base[start : start + len(lines)] != lines:
            start = _find(base, lines, end)  # another version of git merges differently
        end = start + len(lines)
        yield ContentConflict(
            key={"line": start + 1},
            base=_text(region.base),
            source=_text(region.source),
            destination=_text(region.destination),
        )


def _find(lines: Sequence[bytes], wanted: Sequence[bytes], start: int) -> int:
    """Returns where a region begins among lines, from `start` on; `start` for an empty one."""
    for position in range(start, len(lines) - len(wanted) + 1) if wanted else ():
        if lines[position] == wanted[0] and lines[position : position + len(wanted)] == wanted:
            return position
    return start


def _text(lines: Sequence[bytes]) -> str:
    return b"".join(lines)[:_MAX_VALUE_BYTES].decode("utf-8", "replace")


def _failure(reason: str) -> Conflict:
    return Conflict(reason, kind="merge_failed", hint="Choose a side for this path.")
