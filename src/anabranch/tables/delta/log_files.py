"""The files of a Delta log, by their names.

Source of the names: the Delta transaction log protocol, sections "Delta Entries", "Checkpoints" and
"Last Checkpoint File".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import BinaryIO

from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import StoredObjects, read_metadata

__all__ = ["LOG_FOLDER", "LogFiles", "commit_version", "file_version"]

LOG_FOLDER = "_delta_log/"
_COMMIT = re.compile(r"(\d{20})\.json")
_NUMBERED = re.compile(r"\.?(\d{20})\.")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint\.(?:parquet|(\d{10})\.(\d{10})\.parquet|[0-9A-Fa-f-]{36}\.(?:json|parquet))"
)


def commit_version(name: str) -> int | None:
    """Returns the version of a commit, by the name of its file in the log."""
    matched = _COMMIT.fullmatch(name)
    return None if matched is None else int(matched[1])


def file_version(name: str) -> int | None:
    """Returns the version that a file of the log belongs to, None if it belongs to none."""
    matched = _NUMBERED.match(name)
    return None if matched is None else int(matched[1])


class LogFiles:
    """The files of a table's log. `names` are all of them, by their paths below `folder`. `owner`
    is what errors call the table.
    """

    def __init__(self, objects: StoredObjects, folder: str, owner: str = "table") -> None:
        self.owner = owner
        self.folder = folder
        self._objects = objects
        self._contents: dict[int, bytes] = {}
        self.names = [path.removeprefix(folder) for path in objects.list(folder)]
        versions = map(commit_version, self.names)
        self._versions = {version for version in versions if version is not None}

    @property
    def head(self) -> int:
        """The version of the last commit, -1 without commits."""
        return max(self._versions, default=-1)

    @property
    def commits(self) -> list[int]:
        """The versions of all commits, in order."""
        return sorted(self._versions)

    def commit(self, version: int) -> bytes:
        """Returns the bytes of a commit. Raises Invalid if the log no longer has it."""
        if version not in self._contents:
            content = self.read(f"{version:020}.json")
            if content is None:
                raise unreadable(f"the log of the {self.owner} does not have version {version}")
            self._contents[version] = content
        return self._contents[version]

    def has_commit(self, version: int) -> bool:
        """Returns whether the log has a commit."""
        return version in self._versions

    def read(self, name: str) -> bytes | None:
        """Returns the bytes of a file of the log, None without one."""
        try:
            return read_metadata(self._objects, self.folder + name)
        except FileNotFoundError:
            return None

    def open(self, name: str) -> BinaryIO:
        """Returns a stream of a file of the log. Raises Invalid without one."""
        try:
            return self._objects.open(self.folder + name)
        except FileNotFoundError as error:
            raise unreadable(f"the log of the {self.owner} does not have {name}") from error

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
