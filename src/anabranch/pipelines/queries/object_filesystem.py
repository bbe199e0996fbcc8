"""The file system of a query process: objects by address, read through the server."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import msgspec
from fsspec.spec import AbstractFileSystem

from anabranch.files.ranged_stream import open_ranges
from anabranch.pipelines.queries.messages import MAX_READ_BYTES
from anabranch.pipelines.queries.server_calls import ServerCalls

__all__ = ["SCHEME", "ObjectFilesystem", "location_of"]

SCHEME = "objects"
"""The scheme of the names by which DuckDB opens objects, beside the addresses that SQL has: so what
reads an object by its address in a way of DuckDB's own is refused.
"""

_LAKE = "lakefs"

_BUFFER_BYTES = 256 << 10


class _Opened(msgspec.Struct, frozen=True):
    """An object: its size in bytes, and the time of its change in seconds since 1970."""

    size: int
    mtime: float


class ObjectFilesystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Objects named by their addresses, `lakefs://repository/ref/path`, or by their locations for
    DuckDB; they can only be read.
    """

    protocol = SCHEME
    cachable = False

    def __init__(self, calls: ServerCalls) -> None:
        super().__init__()
        self._calls = calls
        self._known: dict[str, _Opened] = {}

    def open(self, path: str, mode: str = "rb", **_: Any) -> io.BufferedReader:
        """Returns an object as a file. Raises FileNotFoundError and PermissionError."""
        if mode not in {"r", "rb"}:
            raise PermissionError("queries cannot write objects")
        opened = self._open(path)

        def read_range(start: int, length: int) -> bytes:
            length = min(length, MAX_READ_BYTES)
            call = {"call": "read", "address": _address(path), "start": start, "length": length}
            return self._calls.request(call)[1]

        return open_ranges(read_range, opened.size, buffer_bytes=_BUFFER_BYTES)

    def glob(self, path: str, **_: Any) -> list[str]:
        """Returns the names of the objects that match a pattern: locations for a location."""
        result, _content = self._calls.request({"call": "glob", "address": _address(path)})
        found = list(result["addresses"])
        return found if path == _address(path) else list(map(location_of, found))

    def list_paths(self, address: str) -> list[str]:
        """Returns the addresses of the objects whose addresses begin with one."""
        result, _content = self._calls.request({"call": "list", "address": address})
        return list(result["addresses"])

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Returns the size of an object, as fsspec describes files."""
        return {"name": path, "size": self._open(path).size, "type": "file"}

    def size(self, path: str) -> int:
        """Returns the size of an object in bytes."""
        return self._open(path).size

    def modified(self, path: str) -> datetime:
        """Returns when an object was changed."""
        return datetime.fromtimestamp(self._open(path).mtime, UTC)

    def exists(self, path: str, **_: Any) -> bool:
        """Returns whether there is an object."""
        return self.isfile(path)

    def isfile(self, path: str) -> bool:
        """Returns whether there is an object."""
        try:
            self._open(path)
        except FileNotFoundError:
            return False
        return True

    def isdir(self, path: str) -> bool:  # noqa: ARG002  the interface's
        """Returns False: patterns find objects only."""
        return False

    def _open(self, path: str) -> _Opened:
        known = self._known.get(path)
        if known is None:
            result, _ = self._calls.request({"call": "open", "address": _address(path)})
            known = self._known[path] = _Opened(result["size"], result["mtime"])
        return known


def location_of(address: str) -> str:
    """Returns the name by which DuckDB opens the object at an address."""
    return SCHEME + address.removeprefix(_LAKE)


def _address(name: str) -> str:
    return _LAKE + name.removeprefix(SCHEME) if name.startswith(f"{SCHEME}:") else name
