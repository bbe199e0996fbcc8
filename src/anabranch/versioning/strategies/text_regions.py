"""The regions of texts that `git merge-file` leaves in conflict.

git writes them between conflict markers, without their place in the base. Their lines are those at
which the differences of both sides to the base touch each other: git computes the merge from these
differences, and `git diff` shows them.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, groupby
from pathlib import Path
from typing import NamedTuple

from anabranch.errors import Conflict
from anabranch.versioning.strategies.git_process import run_git

__all__ = ["TextRegion", "base_starts", "marker_length", "read_regions"]

_MIN_MARKER, _MAX_MARKER = 60, 100
"""The lengths of conflict markers. Few texts have lines that begin with as many of the letters."""

_RUN = re.compile(rb"^(?:<{60,}|\|{60,}|={60,}|>{60,})", re.MULTILINE)
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? ")
# as in `git merge-file`, whatever the configuration says; without context lines, git diff would
# leave out the common end of both texts, and place some changes elsewhere
_DIFF = ["-c", "core.autocrlf=false", "diff", "--no-index", "--unified=1"]
_AS_MERGED = ["--text", "--diff-algorithm=myers", "--no-indent-heuristic"]
_PLAIN = ["--no-ext-diff", "--no-textconv", "--no-color"]


class TextRegion(NamedTuple):
    """The lines of a conflict in the three texts."""

    base: list[bytes]
    source: list[bytes]
    destination: list[bytes]


class _Change(NamedTuple):
    """A change of one side: the lines of the base that it replaces, and the new ones' digest."""

    start: int
    end: int
    digest: bytes


def marker_length(texts: Iterable[str]) -> int | None:
    """Returns a length of conflict markers that no line of the files has; None if there is none."""
    used: set[int] = set()
    for text in texts:
        with Path(text).open("rb") as file:
            if os.fstat(file.fileno()).st_size:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                    used.update(len(run[0]) for run in _RUN.finditer(content))
    return next((each for each in range(_MIN_MARKER, _MAX_MARKER) if each not in used), None)


def read_regions(merged: Iterable[bytes], marker: int) -> Iterator[TextRegion]:
    """Yields the regions of a text with conflict markers of this length, in git's style diff3: the
    destination's lines come first, then those of the base and of the source.
    """
    parts: dict[bytes, list[bytes]] = {}
    current: list[bytes] | None = None
    for line in merged:
        letter = line[:1]
        if not _is_marker(line, letter, marker):
            if current is not None:
                current.append(line)
        elif letter != b">":
            current = parts[letter] = []
        else:
            current = None
            yield TextRegion(parts[b"|"], parts[b"="], parts[b"<"])


def _is_marker(line: bytes, letter: bytes, marker: int) -> bool:
    if letter not in (b"<", b"|", b"=", b">") or not line.startswith(letter * marker):
        return False
    # the names of files follow all markers but the one in the middle
    return line[marker : marker + 1] in ((b"\r", b"\n") if letter == b"=" else b" ")


def base_starts(base: str, source: str, destination: str, timeout: float) -> list[int]:
    """Returns the lines of the base, from 0, at which the conflicts of three files begin. `timeout`
    is in seconds, for each comparison. Raises Conflict if git fails.
    """
    starts = []
    ours = _changes(base, destination, timeout)
    theirs = _changes(base, source, timeout)
    sides = sorted([(each, 0) for each in ours] + [(each, 1) for each in theirs])
    group: list[tuple[_Change, int]] = []
    end = -1
    for change, side in sides:
        if group and change.start > end:
            starts += _conflict(group)
            group = []
        end = max(end, change.end) if group else change.end
        group.append((change, side))
    return starts + _conflict(group)


def _conflict(group: Sequence[tuple[_Change, int]]) -> list[int]:
    """Returns where changes that touch each other begin, if they conflict: both sides have some,
    and not the same one.
    """
    sides = {side for _, side in group}
    changes = {change for change, _ in group}
    return [group[0][0].start] if len(sides) > 1 and len(changes) > 1 else []


def _changes(base: str, changed: str, timeout: float) -> list[_Change]:
    """Returns the changes from one file to another, in order."""
    command = [*_DIFF, *_AS_MERGED, *_PLAIN, "--", base, changed]
    done = run_git(command, seconds=timeout)
    if done.returncode not in (0, 1):
        reason = done.stderr.decode("utf-8", "replace").strip() or "git failed"
        raise Conflict(reason, kind="merge_failed")
    return list(_parse(done.stdout.split(b"\n")))


def _parse(lines: Sequence[bytes]) -> Iterator[_Change]:
    """Yields the changes of a difference in git's format."""
    position = 0
    hunks = dropwhile(lambda line: not _HUNK.match(line), lines)
    for is_changed, group in groupby(hunks, lambda line: line[:1] in (b"-", b"+", b"\\")):
        if not is_changed:
            for line in group:
                hunk = _HUNK.match(line)
                # an empty range is named by the line before it
                position = int(hunk[1]) - (hunk[2] != b"0") if hunk else position + 1
            continue
        changed = list(group)
        start = position
        position += sum(line.startswith(b"-") for line in changed)
        new = [line for line in changed if not line.startswith(b"-")]
        if position > start or new[0].startswith(b"+"):  # else a note that no newline follows
            yield _Change(start, position, hashlib.sha256(b"\n".join(new)).digest())
