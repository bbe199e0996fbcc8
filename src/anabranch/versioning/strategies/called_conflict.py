"""A conflict of a merge, seen by a process that merges it: objects are read and written by calls.

`call_answers` is the other side.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from anabranch.versioning.strategies.contract import Side

__all__ = ["CalledConflict", "CalledOutput", "Caller"]


class Caller(Protocol):
    """What performs calls."""

    def call(self, name: str, **parameters: object) -> Any:
        """Returns the result of a call, a JSON value."""


class CalledVersion:
    """`ObjectVersion`, read by calls. The call of this name, with these parameters, returns a file
    with its bytes.
    """

    def __init__(
        self, caller: Caller, call: str, place: Mapping[str, str], about: Mapping[str, Any]
    ) -> None:
        self._caller = caller
        self._call = call
        self._place = place
        self.size: int = about["size"]
        self.content_type: str = about["content_type"]
        self.metadata: Mapping[str, str] = about["metadata"]
        self._file = ""

    def open(self) -> BinaryIO:
        return Path(self.path()).open("rb")

    def path(self) -> str:
        if not self._file:
            self._file = self._caller.call(self._call, **self._place)
        return self._file


class CalledConflict:
    """`PathConflict`, read by calls."""

    def __init__(
        self,
        caller: Caller,
        *,
        path: str,
        repository: str,
        commits: Mapping[Side, str],
        work_folder: str,
    ) -> None:
        self._caller = caller
        self.path = path
        self.repository = repository
        self.commits = commits
        self.work_folder = work_folder
        self.base = self.read("base", self.path)
        self.source = self.read("source", self.path)
        self.destination = self.read("destination", self.path)

    def read(self, side: Side, path: str) -> CalledVersion | None:
        """Returns another object of a tree, None if it does not exist."""
        return self._find("read", "file", side=side, path=path)

    def read_table_file(self, area: str, path: str) -> CalledVersion | None:
        """Returns a file of a table of the Iceberg catalog, None if it does not exist."""
        return self._find("read_table_file", "table_file", area=area, path=path)

    def list(self, side: Side, prefix: str) -> Iterator[str]:
        """Yields the paths of a tree that begin with a prefix."""
        yield from self._caller.call("list", side=side, prefix=prefix)

    def _find(self, call: str, file_call: str, **place: str) -> CalledVersion | None:
        about = self._caller.call(call, **place)
        return None if about is None else CalledVersion(self._caller, file_call, place, about)


class CalledOutput:
    """`MergeOutput`, performed by calls."""

    def __init__(self, caller: Caller, work_folder: str) -> None:
        self._caller = caller
        self._folder = work_folder

    @contextmanager
    def create(
        self,
        path: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Iterator[BinaryIO]:
        """Yields a stream for the new content of a path, a file in the work folder."""
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as stream:
            yield cast(BinaryIO, stream)
        given = {"content_type": content_type, "metadata": metadata}
        self._caller.call("create", path=path, file=stream.name, **given)

    @contextmanager
    def create_table_file(self, area: str, path: str) -> Iterator[BinaryIO]:
        """Yields a stream for a new file of a table, a file in the work folder."""
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as stream:
            yield cast(BinaryIO, stream)
        self._caller.call("create_table_file", area=area, path=path, file=stream.name)

    def take(self, path: str, side: Side) -> None:
        """Takes the version of a side."""
        self._caller.call("take", path=path, side=side)

    def delete(self, path: str) -> None:
        """Deletes a path."""
        self._caller.call("delete", path=path)
