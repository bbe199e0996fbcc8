"""The files of a Delta log, by their names.

Source of the names: the Delta transaction log protocol, sections "Delta Entries", "Checkpoints" and
"Last Checkpoint File".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from anabranch.errors import Conflict
from anabranch.versioning.strategies.contract import PathConflict, Side

__all__ = ["LogFiles", "commit_version", "file_version", "log_folder", "refused"]

_FOLDER = "_delta_log/"
_COMMIT = re.compile(r"(\d{20})\.json")
_NUMBERED = re.compile(r"\.?(\d{20})\.")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint\.(?:parquet|(\d{10})\.(\d{10})\.parquet|[0-9A-Fa-f-]{36}\.(?:json|parquet))"
)


def refused(reason: str) -> Conflict:
    """Returns the error for logs that cannot be merged."""
    return Conflict(
        reason, kind="merge_failed", hint="Choose a side for the table's files and its log."
    )


def log_folder(path: str) -> str:
    """Returns the folder of the log that a path belongs to, with a slash at its end. Raises
    Conflict if it belongs to none.
    """
    folders = list(re.finditer(rf"(?:^|/){_FOLDER}", path))
    if not folders:
        raise Conflict(
            "the path is not in the log of a Delta table",
            kind="merge_failed",
            hint="Use the strategy delta for paths like tables/events/_delta_log/**.",
        )
    return path[: folders[-1].end()]


def commit_version(name: str) -> int | None:
    """Returns the version of a commit, by the name of its file in the log."""
    matched = _COMMIT.fullmatch(name)
    return None if matched is None else int(matched[1])


class LogFiles:
    """The files of a table's log on one side. `names` are all of them, by their paths below
    `folder`.
    """

    def __init__(self, conflict: PathConflict, side: Side, folder: str) -> None:
        self.side: Literal["base", "source", "destination"] = side
        self.folder = folder
        self._conflict = conflict
        self._contents: dict[int, bytes] = {}
        self.names = [path.removeprefix(folder) for path in conflict.list(side, folder)]
        versions = map(commit_version, self.names)
        self._versions = {version for version in versions if version is not None}

    @property
    def head(self) -> int:
        """The version of the last commit, -1 without commits."""
        return max(self._versions, default=-1)

    def commit(self, version: int) -> bytes:
        """Returns the bytes of a commit. Raises Conflict if the log no longer has it."""
        if version not in self._contents:
            content = self.read(f"{version:020}.json")
            if content is None:
                raise refused(f"the log of the {self.side} does not have version {version}")
            self._contents[version] = content
        return self._contents[version]

    def has_commit(self, version: int) -> bool:
        """Returns whether the log has a commit."""
        return version in self._versions

    def read(self, name: str) -> bytes | None:
        """Returns the bytes of a file of the log."""
        found = self._conflict.read(self.side, self.folder + name)
        if found is None:
            return None
        with found.open() as stream:
            return stream.read()

    def local_path(self, name: str) -> str:
        """Returns the path of a file on this machine with the content of a file of the log."""
        found = self._conflict.read(self.side, self.folder + name)
        assert found is not None  # noqa: S101  it was listed
        return found.path()

    def checkpoints(self) -> Mapping[int, list[str]]:
        """Returns the files of the complete checkpoints by version; of several for one version, one
        is chosen.
        """
        found: dict[int, dict[str, list[str]]] = {}
        for name in self.names:
            matched = _CHECKPOINT.fullmatch(name)
            if matched is None:
                continue
            parts = matched[3] or ""
            group = parts or name  # the parts of a checkpoint differ in their number alone
            found.setdefault(int(matched[1]), {}).setdefault(group, []).append(name)
        complete = {}
        for version, groups in found.items():
            for group, names in groups.items():
                if not group.isdigit() or len(names) == int(group):
                    complete[version] = names
        return complete


def file_version(name: str) -> int | None:
    """Returns the version that a file of the log belongs to, None if it belongs to none."""
    matched = _NUMBERED.match(name)
    return None if matched is None else int(matched[1])
