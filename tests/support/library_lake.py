"""A lake in a folder as hooks see it, for tests of single hooks."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import BinaryIO, cast

from anabranch.errors import AnabranchError, HookFailed
from anabranch.library import Lake
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.page import Page

__all__ = ["LibraryLake"]

Request = Callable[[str, str, Mapping[str, str], bytes], tuple[int, bytes]]


class LibraryLake:
    """A repository of a lake; `reads` are the reads of objects' bytes: path, start, length. Without
    a lake it has requests alone.
    """

    def __init__(self, lake: Lake | None, repository: str, request: Request | None = None) -> None:
        self.lake = cast(Lake, lake)
        self.repository = repository
        self.reads: list[tuple[str, int, int]] = []
        self._request = request

    def put(self, branch: str, **files: bytes) -> None:
        """Stages files, whose names are paths."""
        for path, content in files.items():
            self.lake.objects.upload(self.repository, branch, path, [content])

    def save(self, branch: str, files: Mapping[str, bytes], **metadata: str) -> str:
        """Commits files and returns the commit's id."""
        self.put(branch, **files)
        return self.lake.commits.commit(
            self.repository, branch, message="files", committer="ada", metadata=metadata
        ).id

    def read(self, reference: str, path: str) -> BinaryIO:
        opened = self.lake.objects.open(self.repository, reference, path)
        return _Recorded(b"".join(opened.chunks()), path, self.reads)

    def load(self, path: str) -> bytes:
        try:
            return self.lake.objects.open(self.repository, "dev", path).read_bytes()
        except AnabranchError as error:
            raise HookFailed(f"could not load script_path {path}: {error.message}") from error

    def require_variables(self) -> None:
        """Its code may have all variables."""

    def stat(self, reference: str, path: str) -> Stat:
        return self.lake.objects.stat(self.repository, reference, path)

    def list(
        self, reference: str, *, prefix: str = "", after: str = "", delimiter: str = "", amount: int
    ) -> Page[Stat | CommonPrefix]:
        items = self.lake.objects.listing(
            self.repository,
            reference,
            prefix=prefix,
            after=after,
            delimiter=delimiter,
            amount=amount + 1,
        ).items
        return Page(items[:amount], len(items) > amount, items[:amount][-1].path if items else "")

    def diff(
        self, left: str, right: str, *, prefix: str = "", after: str = "", amount: int
    ) -> Page[Change]:
        branch = f"{right}$" if right in self._branches() else right
        return self.lake.refs.diff(
            self.repository, left, branch, two_dot=True, prefix=prefix, after=after, amount=amount
        )

    def commit(self, reference: str) -> Commit:
        return self.lake.commits.get(self.repository, reference)

    def request(
        self, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        assert self._request is not None
        return self._request(method, path, query, body)

    def _branches(self) -> set[str]:
        return {branch.id for branch in self.lake.branches.list(self.repository, amount=100).items}


class _Recorded(io.BytesIO):
    def __init__(self, content: bytes, path: str, reads: list[tuple[str, int, int]]) -> None:
        super().__init__(content)
        self._path = path
        self._reads = reads

    def read(self, size: int | None = -1) -> bytes:
        self._reads.append((self._path, self.tell(), -1 if size is None else size))
        return super().read(size)
