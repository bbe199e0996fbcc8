"""A reference of a lake's repository: what can be read at it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal, overload

from anabranch.errors import AnabranchError, NotFound
from anabranch.lake.object_file import ObjectFile, in_mode, require_read_mode
from anabranch.lake.paging import PAGE_SIZE, all_items
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.stat import CommonPrefix, Stat

if TYPE_CHECKING:
    from anabranch.lake.any_lake import AnyLake
    from anabranch.lake.snapshots.snapshot import Snapshot

__all__ = ["ReferenceHandle"]


class ReferenceHandle:
    """A branch, a tag, a commit or an expression such as `main~2`, by its name: each method looks
    it up. Methods raise NotFound if it does not exist.
    """

    def __init__(self, lake: AnyLake, repository: str, name: str) -> None:
        self._lake = lake
        self.repository = repository
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}('lakefs://{self.repository}/{self.name}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceHandle) and self._place == other._place

    def __hash__(self) -> int:
        return hash((self.repository, self.name))

    @property
    def _place(self) -> tuple[int, str, str]:
        return id(self._lake), self.repository, self.name

    @overload
    def objects(self, prefix: str = "") -> Iterator[Stat]: ...

    @overload
    def objects(self, prefix: str = "", *, delimiter: str) -> Iterator[Stat | CommonPrefix]: ...

    def objects(self, prefix: str = "", *, delimiter: str = "") -> Iterator[Any]:
        """Yields the objects whose paths begin with a prefix; with a delimiter, paths that go on
        after it as one common prefix. Pages are fetched as they are read.
        """
        pages = self._lake.objects.pages(
            self.repository, self.name, prefix=prefix, delimiter=delimiter
        )
        for page in pages:
            yield from page.items

    def stat(self, path: str) -> Stat:
        """Returns the properties of an object. Raises NotFound."""
        return self._lake.objects.stat(self.repository, self.name, path)

    def exists(self, path: str) -> bool:
        """Returns whether there is an object at a path."""
        try:
            self.stat(path)
        except NotFound as error:
            if error.kind != "object_not_found":
                raise
            return False
        return True

    def read(self, path: str) -> bytes:
        """Returns the content of an object. Raises NotFound."""
        return self._lake.objects.open(self.repository, self.name, path).read_bytes()

    def read_many(self, paths: Iterable[str]) -> list[bytes]:
        """Returns the contents of objects, in order, up to 1,000 by one request of a server. Raises
        the error of the first that cannot be read.
        """
        found = []
        for content in self.contents([*paths]):
            if isinstance(content, AnabranchError):
                raise content
            found.append(content)
        return found

    def contents(self, paths: Sequence[str]) -> list[bytes | AnabranchError]:
        """Returns the contents of objects, in order, or the error in place of one. Raises Denied if
        one of the paths may not be read.
        """
        return self._lake.objects.read_many(self.repository, self.name, paths)

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
        return self._reader(path, mode, encoding=encoding, newline=newline)

    def _reader(self, path: str, mode: str, *, encoding: str, newline: str | None) -> IO[Any]:
        require_read_mode(mode, self.name)
        file = self._lake.objects.open(self.repository, self.name, path)
        return in_mode(file, mode, encoding=encoding, newline=newline)

    def snapshot(self) -> Snapshot:
        """Returns the objects of the commit that it names now."""
        return self._lake.snapshot(self.repository, self.name)

    def commit_at(self) -> Commit:
        """Returns the commit that it names."""
        return self._lake.commits.get(self.repository, self.name)

    def log(self, *, first_parent: bool = False) -> Iterator[Commit]:
        """Yields its history, newest first."""
        return all_items(
            lambda after: self._lake.commits.log(
                *(self.repository, self.name),
                after=after,
                amount=PAGE_SIZE,
                first_parent=first_parent,
            )
        )

    def diff(
        self, other: ReferenceHandle | str, *, prefix: str = "", two_dot: bool = False
    ) -> Iterator[Change]:
        """Yields what merging `other` into it would change; with `two_dot`, the differences of both
        trees.
        """
        right = other if isinstance(other, str) else other.name
        return all_items(
            lambda after: self._lake.refs.diff(
                *(self.repository, self.name, right),
                two_dot=two_dot,
                prefix=prefix,
                after=after,
                amount=PAGE_SIZE,
            )
        )
