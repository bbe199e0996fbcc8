"""The strategy `delta`: merges the log of a Delta Lake table.

All files of the log become those of the destination, and the source's commits follow them.
Checkpoints and checksums of the source are left out, since they do not hold the destination's
commits. Data files are merged as any other paths, except for those that one side refers to again
and the other has removed (RESTORE and VACUUM).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from anabranch.errors import Conflict, Invalid
from anabranch.tables.delta.actions import FileAction
from anabranch.tables.delta.log_files import (
    LOG_FOLDER,
    LogFiles,
    commit_version,
    file_version,
)
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    PathConflict,
    Side,
)
from anabranch.versioning.strategies.delta.commit import LogCommit
from anabranch.versioning.strategies.delta.conflict_rules import find_conflicts
from anabranch.versioning.strategies.delta.fork import find_fork
from anabranch.versioning.strategies.delta.rebase import rebase
from anabranch.versioning.strategies.delta.table_state import IsolationLevel, read_state
from anabranch.versioning.strategies.installed_libraries import require_installed
from anabranch.versioning.strategies.side_objects import (
    SideObjects,
    refusal,
    refusing_unreadable,
)

__all__ = ["delta_strategy"]

_SIDES: tuple[Side, ...] = ("base", "source", "destination")
_ISOLATION_LEVELS: tuple[IsolationLevel, ...] = get_args(IsolationLevel)


def delta_strategy(options: Mapping[str, Any]) -> _DeltaStrategy:
    """Returns the strategy. Option `isolation`: which rows of the destination conflict with
    operations of the source that depend on them: those that it has changed or appended
    (`serializable`), those that it has changed (`write-serializable`), or none (`snapshot`). The
    default is the table's level. Raises Invalid for other options, NotSupported without pyarrow.
    """
    unknown = sorted(options.keys() - {"isolation"})
    if unknown:
        raise Invalid(
            f"the strategy delta has no option {unknown[0]!r}", kind="invalid_merge_options"
        )
    isolation = options.get("isolation")
    if "isolation" in options and isolation not in _ISOLATION_LEVELS:
        raise Invalid(
            f"option isolation: must be one of {', '.join(_ISOLATION_LEVELS)}, not {isolation!r}",
            kind="invalid_merge_options",
        )
    require_installed("the strategy delta", "pyarrow")
    return _DeltaStrategy(isolation)


class _DeltaStrategy:
    def __init__(self, isolation: IsolationLevel | None) -> None:
        self._isolation = isolation

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes the merged log, or returns the commits that conflict. Raises Conflict for tables
        that cannot be merged.
        """
        with refusing_unreadable():
            return self._merge(conflict, output)

    def _merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        folder = _log_folder(conflict.path)
        _require_first(conflict, folder)
        base, source, destination = (
            LogFiles(SideObjects(conflict, side), folder, side) for side in _SIDES
        )
        fork = find_fork(base, source, destination)
        state = read_state(base, fork.version)
        conflicts = find_conflicts(fork, state, self._isolation or state.isolation_level)
        if conflicts:
            return conflicts
        _take_destination(output, fork.version, base, source, destination)
        rebased = rebase(fork.source, destination, timestamps=state.has_commit_timestamps)
        for commit, version, content in rebased:
            like = conflict.read("source", f"{folder}{commit.version:020}.json")
            assert like is not None  # noqa: S101  it was read
            with output.create(
                f"{folder}{version:020}.json",
                content_type=like.content_type,
                metadata=like.metadata,
            ) as stream:
                stream.write(content)
        table = folder.removesuffix(LOG_FOLDER)
        _keep_files(conflict, output, fork.source, "source", table)
        _keep_files(conflict, output, fork.destination, "destination", table)
        return []


def _log_folder(path: str) -> str:
    """Returns the folder of the log that a path belongs to, with a slash at its end. Raises
    Conflict if it belongs to none.
    """
    folders = list(re.finditer(rf"(?:^|/){LOG_FOLDER}", path))
    if not folders:
        raise Conflict(
            "the path is not in the log of a Delta table",
            kind="merge_failed",
            hint="Use the strategy delta for paths like tables/events/_delta_log/**.",
        )
    return path[: folders[-1].end()]


def _require_first(conflict: PathConflict, folder: str) -> None:
    """Raises Conflict for a path of a log that could not be merged when an earlier path of it was
    settled: it would fail for the same reason.
    """
    version = file_version(conflict.path.removeprefix(folder))
    if not version:
        return
    earlier = f"{folder}{version - 1:020}.json"
    base, source, destination = (
        None if found is None else Path(found.path()).read_bytes()
        for found in (conflict.read(side, earlier) for side in _SIDES)
    )
    if None not in (source, destination) and len({base, source, destination}) == len(_SIDES):
        raise refusal(f"the log is merged as a whole: see {earlier}")


def _take_destination(
    output: MergeOutput, fork_version: int, base: LogFiles, source: LogFiles, destination: LogFiles
) -> None:
    """Makes all files of the log those of the destination."""
    logs = base, source, destination
    names = [set(log.names) for log in logs]
    in_all = set.intersection(*names)
    for name in sorted(set.union(*names)):
        version = commit_version(name)
        if name not in in_all or version is None or version > fork_version:
            output.take(destination.folder + name, "destination")


def _keep_files(
    conflict: PathConflict,
    output: MergeOutput,
    commits: Sequence[LogCommit],
    side: Side,
    table: str,
) -> None:
    """Keeps the files of the base that commits of a side have added again and the other side has
    removed.
    """
    other: Side = "destination" if side == "source" else "source"
    active: dict[str, FileAction] = {}
    for commit in commits:
        for removed in commit.removes:
            active.pop(removed.file, None)
        active.update((added.file, added) for added in commit.adds)
    for action in active.values():
        for name in action.stored_files():
            path = table + name
            if conflict.read(other, path) is None and conflict.read("base", path) is not None:
                output.take(path, side)
