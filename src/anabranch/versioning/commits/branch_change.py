"""The change of a branch as data: what the committer carries out, and what it learns from a plan.

    committer.move_branch(BranchChange(repository=..., branch=..., fields=...), plan)

A `BranchChange` says which branch moves, what the new commits say, what is written with the move
and what examines it. A plan makes the commits: it is computed anew for the head of each attempt.
Its result, `Made`, lists all that the move needs, so that the committer alone writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from anabranch.keyvalue.contract import Expect
from anabranch.model.commits.commit import Commit, CommitFields
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.references.branches import StoredBranch
from anabranch.versioning.staging.extra_writes import ExtraWrites, ExtraWritesFor

__all__ = ["BranchChange", "CommitPlan", "Examination", "Made", "MoveWritesFor", "UntrustedTree"]

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Examination(Protocol):
    """Hooks that run before a branch moves."""

    def examine(self, commit: Commit, head: Commit) -> None:
        """Receives a commit that a branch is about to move to, and the branch's head. Raises to
        refuse it.
        """


class MoveWritesFor(Protocol[T_contra]):
    """What is written with a move, and depends on where the branch was."""

    def writes_from(self, head: Commit, result: T_contra, /) -> ExtraWrites:
        """Returns the writes to add to a move, given the head on top of which it is made, which may
        still be written, and its result. It is called as `ExtraWritesFor.writes_for`.
        """


class BranchChange(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A change that moves a branch; T is the type of its result.

    `known` is the branch, if the caller has read it already, and `is_staged` whether it has seen
    changes in its active staging area. `extra_writes` and `move_writes` are made atomically with
    the move. With an `examination`, the commit can be read as a proposal while that runs; the
    branch can be changed meanwhile, and if it has moved, the next commit is examined. With
    `keeps_staged`, the commits hold nothing of what is staged on the branch, which remains staged
    on top of them.
    """

    repository: Repository
    branch: str
    fields: CommitFields
    known: StoredBranch | None = None
    is_staged: bool = False
    extra_writes: Sequence[ExtraWritesFor[T]] = ()
    move_writes: Sequence[MoveWritesFor[T]] = ()
    examination: Examination | None = None
    keeps_staged: bool = False


class UntrustedTree(msgspec.Struct, frozen=True):
    """A tree that may name any objects, so that garbage collection must admit it. `since` is the
    number of sweeps that had ended when its entries were read, if known.
    """

    since: int | None = None


class Made(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What a plan has made for the head of one attempt.

    The branch moves to `commit`; `result` is what the change returns. `earlier` are new commits
    below it. `changed_paths` is the history index's record of the commit, if its paths are known.
    `refers_to` are commits, and `new_content` addresses of objects, that the branch refers to from
    now on, so that garbage collection must admit them. `conditions` must hold when it moves; where
    they do not, the plan is asked again.
    """

    commit: Commit
    result: T
    earlier: Sequence[Commit] = ()
    changed_paths: bytes = b""
    refers_to: Sequence[str] = ()
    new_content: Sequence[str] = ()
    untrusted: UntrustedTree | None = None
    conditions: Sequence[Expect] = ()


class CommitPlan(Protocol[T]):
    """Makes the commits of a change: of staged changes, a merge, reverts, a rebase, an import."""

    def make(self, change: BranchChange[T], stored: StoredBranch, head: Commit) -> Made[T]:
        """Returns the commits for a branch with this head, all staged changes of which are sealed,
        unless the change keeps them. It is called again when the branch has changed meanwhile.

        Raises NoChanges if the branch does not move; its sealed changes are then dropped.
        """
