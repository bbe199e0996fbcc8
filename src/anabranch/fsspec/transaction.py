"""Files that a branch gets as one commit, or not at all."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fsspec.transaction import Transaction

from anabranch.fsspec.os_errors import os_errors

if TYPE_CHECKING:
    from anabranch.fsspec.written_files import DeferredFile
    from anabranch.lake.any_lake import AnyLake

__all__ = ["CommitTransaction"]

_MESSAGE = "Files written through fsspec"


class CommitTransaction(Transaction):  # type: ignore[misc]  # fsspec has no types
    """The files that are written within it. Its end stores them, and each branch gets its own as
    one commit with the `message`; after an exception none is stored. Other changes, such as
    deletions and copies, are made at once.

    The end raises DirtyBranch for a branch with uncommitted changes, and MergeConflict if the
    branch got others of the same paths meanwhile; it then stays as it is.
    """

    message = _MESSAGE
    fs: Any
    """The file system; None after the end."""

    def complete(self, commit: bool = True) -> None:
        """Commits the files, or drops them, and ends the transaction."""
        files: list[DeferredFile] = list(self.files)
        self.files.clear()
        try:
            if commit:
                _commit(self.fs.lake, files, self.message)
        finally:
            for each in files:
                each.drop()
            self.fs._intrans = False  # noqa: SLF001  fsspec's interface
            self.fs._transaction = None  # noqa: SLF001
            self.fs = None


def _commit(lake: AnyLake, files: list[DeferredFile], message: str) -> None:
    by_branch: dict[tuple[str, str], list[DeferredFile]] = defaultdict(list)
    for each in files:
        if not each.is_failed:
            by_branch[each.location[:2]].append(each)
    for (repository, name), written in by_branch.items():
        branch = lake.repository(repository).branch(name)
        with os_errors(f"{repository}/{name}"), branch.transaction(message) as own:
            for each in written:
                with os_errors(each.location.root + each.location.path):
                    lake.objects.upload(
                        *(repository, own.name, each.location.path, each.chunks()),
                        if_absent=each.if_absent,
                    )
