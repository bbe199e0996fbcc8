"""The objects of one commit, pinned.

A reference is resolved once; what is read afterwards is that commit's, even if the branch moves.
Look-ups, listings and patterns read the tables of the commit on this machine.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Literal, overload

from anabranch import _kernel as kernel
from anabranch.errors import NotFound
from anabranch.lake.object_file import ObjectFile, in_mode, require_read_mode
from anabranch.lake.snapshots.source import NamedEntry, SnapshotSource
from anabranch.model.commits.commit import Commit
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.entry_records import Value, entry_from
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.patterns.object_patterns import ObjectPattern

__all__ = ["Snapshot"]

_ROWS = 10_000
"""How many rows of a listing are in memory at once."""


class Snapshot:
    """The objects of `commit`, which `reference` named when the snapshot was made; uncommitted
    changes are not among them. On a server these are the objects that the user might read then; the
    bytes of each are read with the rights that the user has by now.

    May be used by any number of threads and, after a fork, of processes.
    """

    def __init__(
        self, source: SnapshotSource, repository: str, reference: str, commit: Commit
    ) -> None:
        self._source = source
        self._tree = source.tree
        self._read = source.read
        self.repository = repository
        self.reference = reference
        self.commit = commit

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._source, self.repository, self.reference, self.commit)

    def __repr__(self) -> str:
        return f"<Snapshot of lakefs://{self.repository}/{self.commit_id}, {len(self):,} objects>"

    @property
    def commit_id(self) -> str:
        """The id of the commit."""
        return self.commit.id

    def __len__(self) -> int:
        """Returns the number of objects."""
        return len(self._tree)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._value(path) is not None

    def exists(self, path: str) -> bool:
        """Returns whether there is an object at a path."""
        return self._value(path) is not None

    def stat(self, path: str) -> Stat:
        """Returns the properties of an object. Raises NotFound."""
        return self._stat(path, self._entry(path))

    def stat_many(self, paths: Iterable[str]) -> list[Stat | None]:
        """Returns the properties of several objects, None where there is none. Costs least for
        paths in order.
        """
        paths = list(paths)
        keys = [_key(path) for path in paths]
        values: list[Value | None] = self._read(self._tree.get_many, keys)
        return [
            None if value is None else self._stat(path, entry_from(value))
            for path, value in zip(paths, values, strict=True)
        ]

    @overload
    def list(self, prefix: str = "") -> Iterator[Stat]: ...

    @overload
    def list(self, prefix: str = "", *, delimiter: str) -> Iterator[Stat | CommonPrefix]: ...

    def list(self, prefix: str = "", *, delimiter: str = "") -> Iterator[Any]:
        """Yields the objects whose paths begin with a prefix, in order of their paths' bytes; with
        a delimiter, paths that go on after it as one common prefix.
        """
        for page in self._pages(prefix, delimiter):
            for key, value in page.rows():
                path = decode_key(key)
                if value is None:
                    yield CommonPrefix(path)
                else:
                    yield self._stat(path, entry_from(value))

    def paths(self, prefix: str = "") -> Iterator[str]:
        """Yields the paths that begin with a prefix, in order of their bytes: faster than `list`,
        for which each object's properties are decoded.
        """
        for page in self._pages(prefix, ""):
            yield from page.paths()

    def glob(self, pattern: str) -> Iterator[str]:
        """Yields the paths that match a pattern such as `year=*/[ab]?.csv` or `logs/**/*.json`: `*`
        and `?` do not match slashes, `**` is any number of folders. Raises Invalid for a malformed
        one.
        """
        parsed = ObjectPattern(pattern)
        if parsed.is_literal:
            return iter([pattern] if pattern in self else [])
        return parsed.select(self.paths(parsed.prefix))

    def read(self, path: str) -> bytes:
        """Returns the content of an object. Raises NotFound, Gone for bytes that are lost."""
        return self._source.open(path, self._entry(path)).read_bytes()

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes]:
        """Yields the contents of objects, in order of `paths`; small ones are read many at a time.
        Raises NotFound for the first path without an object, before anything is read.
        """
        return self._source.read_many(self._entries(list(paths)))

    @overload
    def open(self, path: str, mode: Literal["rb"]) -> ObjectFile: ...

    @overload
    def open(
        self,
        path: str,
        mode: Literal["r", "rt"] = "r",
        *,
        encoding: str = "utf-8",
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...

    def open(
        self, path: str, mode: str = "r", *, encoding: str = "utf-8", newline: str | None = None
    ) -> IO[Any]:
        """Returns an object as a file for reading, of text unless the mode is `rb`. Raises
        NotFound.
        """
        require_read_mode(mode, "a snapshot")
        file = self._source.open(path, self._entry(path))
        return in_mode(file, mode, encoding=encoding, newline=newline)

    def _pages(self, prefix: str, delimiter: str) -> Iterator[kernel.Listing]:
        start, separator, after = encode_path(prefix), encode_path(delimiter), b""
        while True:
            page = self._read(_page, self._tree, start, separator, after)
            yield page
            if not page.has_more:
                return
            after = page.last_key()

    def _value(self, path: str) -> Value | None:
        return self._read(self._tree.get, _key(path))

    def _entry(self, path: str) -> Entry:
        value = self._value(path)
        if value is None:
            raise self._not_found(path)
        return entry_from(value)

    def _entries(self, paths: Sequence[str]) -> Sequence[NamedEntry]:
        values = self._read(self._tree.get_many, [_key(path) for path in paths])
        found = []
        for path, value in zip(paths, values, strict=True):
            if value is None:
                raise self._not_found(path)
            found.append(NamedEntry(path, entry_from(value)))
        return found

    def _stat(self, path: str, entry: Entry) -> Stat:
        return Stat(path, entry, self._source.address(entry))

    def _not_found(self, path: str) -> NotFound:
        return NotFound(
            "not found",
            kind="object_not_found",
            hint=f"No object at {path!r} in the commit {self.commit_id[:12]} of "
            f"{self.reference!r}, which the snapshot was made of.",
        )


def _key(path: str) -> bytes:
    """Returns the key of a path; the empty key, which no object has, for what is none."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b""


def _page(tree: kernel.Tree, prefix: bytes, delimiter: bytes, after: bytes) -> kernel.Listing:
    page = tree.listing(prefix=prefix, delimiter=delimiter, after=after, amount=_ROWS)
    page.feed([], last=True)
    return page
