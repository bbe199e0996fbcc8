"""A branch of a lake's repository: what can be read and changed on it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import IO, Any, Literal, overload

from anabranch.lake.object_file import ObjectFile
from anabranch.lake.object_writer import ObjectWriter, TextObjectWriter
from anabranch.lake.paging import PAGE_SIZE, all_items
from anabranch.lake.reference_handle import ReferenceHandle
from anabranch.lake.transaction import Transaction
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE
from anabranch.model.objects.stat import Stat

__all__ = ["BranchHandle"]


class BranchHandle(ReferenceHandle):
    """A branch by its name. Reads see its uncommitted changes."""

    def create(self, source: str) -> BranchHandle:
        """Creates the branch at the commit of a reference, and returns it."""
        self._lake.branches.create(self.repository, self.name, source)
        return self

    def delete(self) -> None:
        """Deletes the branch with its uncommitted changes."""
        self._lake.branches.delete(self.repository, self.name)

    def write(
        self,
        path: str,
        content: bytes | str | Iterable[bytes],
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] | None = None,
        if_absent: bool = False,
    ) -> Stat:
        """Stores an object, uncommitted: bytes, text as UTF-8, or chunks of bytes. Raises
        PreconditionFailed if `if_absent` is set and there is an object.
        """
        chunks: Iterable[bytes]
        if isinstance(content, str):
            chunks = [content.encode()]
        elif isinstance(content, bytes | bytearray | memoryview):
            chunks = [bytes(content)]
        else:
            chunks = content
        return self._lake.objects.upload(
            *(self.repository, self.name, path, chunks),
            content_type=content_type,
            metadata=metadata,
            if_absent=if_absent,
        )

    @overload
    def open(self, path: str, mode: Literal["rb"]) -> ObjectFile: ...

    @overload
    def open(self, path: str, mode: Literal["wb"]) -> ObjectWriter: ...

    @overload
    def open(
        self,
        path: str,
        mode: Literal["r", "rt", "w", "wt"] = "r",
        *,
        encoding: str = "utf-8",
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...

    def open(
        self, path: str, mode: str = "r", *, encoding: str = "utf-8", newline: str | None = None
    ) -> IO[Any] | ObjectWriter:
        """Returns an object as a file: for reading (`r`, `rb`), or for writing (`w`, `wb`), which
        stores the object when it is closed, and nothing if the block that writes it fails.
        """
        if mode not in {"w", "wt", "wb"}:
            return self._reader(path, mode, encoding=encoding, newline=newline)
        upload = partial(self._lake.objects.upload, self.repository, self.name, path)
        file = ObjectWriter(upload)
        return file if mode == "wb" else TextObjectWriter(file, encoding=encoding, newline=newline)

    def remove(self, path: str) -> None:
        """Deletes an object, if it exists."""
        self._lake.objects.delete(self.repository, self.name, path)

    def changes(self, prefix: str = "") -> Iterator[Change]:
        """Yields the uncommitted changes of paths that begin with a prefix."""
        return all_items(
            lambda after: self._lake.branches.changes(
                self.repository, self.name, prefix=prefix, after=after, amount=PAGE_SIZE
            )
        )

    def commit(self, message: str, *, metadata: Mapping[str, str] | None = None) -> Commit:
        """Commits the uncommitted changes. Raises NoChanges if there are none."""
        return self._lake.commits.commit(
            self.repository, self.name, message=message, metadata=metadata
        )

    def reset(self) -> None:
        """Drops the uncommitted changes."""
        self._lake.branches.reset(self.repository, self.name, "reset")

    def merge(
        self,
        source: ReferenceHandle | str,
        message: str = "",
        *,
        metadata: Mapping[str, str] | None = None,
        strategy: str = "",
        squash: bool = False,
    ) -> str:
        """Merges a reference into the branch; returns the id of the new commit. Raises
        MergeConflict, DirtyBranch, ProtectedBranch.
        """
        name = source if isinstance(source, str) else source.name
        return self._lake.refs.merge(
            *(self.repository, name, self.name),
            message=message,
            metadata=metadata,
            strategy=strategy,
            squash=squash,
        )

    def transaction(
        self,
        message: str,
        *,
        metadata: Mapping[str, str] | None = None,
        tables: Iterable[str] = (),
    ) -> Transaction:
        """Returns a block of changes that the branch gets as one commit, or not at all.

        with branch.transaction("Both tables") as tx:
            tx.write("a.csv", a)
            tx.write("b.csv", b)

        `tables` are folders of Delta tables: what others write to them meanwhile is no conflict,
        as far as Delta's rules allow. Raises Invalid for a path that is none.
        """
        return Transaction(self._lake, self.repository, self.name, message, metadata, tables)
