"""Changes that a branch gets as one commit, or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError, NoChanges, OutcomeUnknown
from anabranch.lake.table_rules import table_rules

if TYPE_CHECKING:
    from anabranch.lake.any_lake import AnyLake
    from anabranch.lake.branch_handle import BranchHandle

__all__ = ["Transaction"]


class Transaction:
    """A block that writes to a hidden branch of its own, which begins at the head of the branch.
    The end of the block commits, merges all into the branch as one commit with the message, and
    removes the hidden branch; an exception in the block, or a conflict, only removes it.

    `commit_id` is the commit of the branch after the block, empty if nothing was changed. The merge
    raises MergeConflict if the branch got other changes of the same paths meanwhile, and
    DirtyBranch if it has uncommitted ones. Changes that both have made to `tables` are united as
    far as Delta's rules allow.
    """

    def __init__(
        self,
        lake: AnyLake,
        repository: str,
        branch: str,
        message: str,
        metadata: Mapping[str, str] | None,
        tables: Iterable[str] = (),
    ) -> None:
        self._lake = lake
        self._resolutions = table_rules(tables)
        self._repository = repository
        self._branch = branch
        self._message = message
        self._metadata = metadata
        self._own = ""
        self.commit_id = ""

    def __enter__(self) -> BranchHandle:
        own = f"transaction-{secrets.token_hex(8)}"
        self._lake.branches.create(self._repository, own, self._branch, hidden=True)
        self._own = own
        return self._lake.repository(self._repository).branch(own)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            with suppress(AnabranchError):  # the block's own error is the one to report
                self._remove()
            return
        try:
            self._merge()
        except OutcomeUnknown:
            raise  # the branch has the only copy if the merge was not made
        except BaseException:
            with suppress(AnabranchError):
                self._remove()
            raise
        self._remove()

    def _merge(self) -> None:
        with suppress(NoChanges):  # the block may have committed everything itself
            self._lake.commits.commit(self._repository, self._own, message=self._message)
        with suppress(NoChanges):
            self.commit_id = self._lake.refs.merge(
                *(self._repository, self._own, self._branch),
                message=self._message,
                metadata=self._metadata,
                squash=True,
                resolutions=self._resolutions,
            )

    def _remove(self) -> None:
        self._lake.branches.delete(self._repository, self._own)
