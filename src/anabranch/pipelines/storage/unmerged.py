"""The branches of a repository whose commits the default branch does not have, the oldest or the
largest first.

The cost is bounded: so many branches are looked at, so many changed objects are counted, for so
many seconds. A report that has reached a bound says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Literal

import msgspec

from anabranch.model.commits.change import Change
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["Order", "UnmergedBranch", "UnmergedBranches", "UnmergedLimits", "find_unmerged"]

Order = Literal["age", "size"]

_PAGE = 1_000


class UnmergedLimits(msgspec.Struct, frozen=True):
    """How many branches are looked at, for how long, and how many changed objects are counted of
    each one and of all.
    """

    branches: int = 10_000
    seconds: float = 15.0
    objects_of_branch: int = 10_000
    objects: int = 100_000


class UnmergedBranch(msgspec.Struct, frozen=True, kw_only=True):
    """A branch with commits that the default branch does not have. `changed_at` is the time of its
    last commit, `expires_at` its end, in seconds since 1970, 0 if it has none. `objects` are those
    that it has added or changed since it left the default branch, and `bytes` their size; of more
    than are counted, if it is not `complete`.
    """

    branch: str
    commit_id: str
    changed_at: int
    expires_at: int
    hidden: bool
    objects: int = 0
    bytes: int = 0
    complete: bool = False


class UnmergedBranches(msgspec.Struct, frozen=True):
    """The unmerged branches in order, the `number` of all that were found, and whether they are
    `complete`: each branch was looked at, and its objects were counted where the order needs them.
    """

    results: list[UnmergedBranch]
    number: int
    complete: bool


def find_unmerged(
    core: Core,
    repository: Repository,
    *,
    order: Order,
    amount: int,
    is_shown: Callable[[Branch], bool],
    limits: UnmergedLimits,
) -> UnmergedBranches:
    """Returns at most `amount` of the unmerged branches that are shown: those whose last commit is
    the oldest, or those that have added most bytes.

    Raises NotFound, Gone and Corrupt.
    """
    search = _Search(core, repository, is_shown, limits)
    found = sorted(search.unmerged(), key=lambda each: (each.changed_at, each.branch))
    chosen: Sequence[UnmergedBranch] = found if order == "size" else found[:amount]
    counted = [search.with_objects(each) for each in chosen]
    if order == "size":
        counted.sort(key=lambda each: -each.bytes)
    is_whole = search.complete and (order == "age" or all(each.complete for each in counted))
    return UnmergedBranches(counted[:amount], len(found), is_whole)


class _Search:
    def __init__(
        self,
        core: Core,
        repository: Repository,
        is_shown: Callable[[Branch], bool],
        limits: UnmergedLimits,
    ) -> None:
        self._core = core
        self._repository = repository
        self._is_shown = is_shown
        self._limits = limits
        self._deadline = time.monotonic() + limits.seconds
        self._objects_left = limits.objects
        self._bases: dict[str, str] = {}
        self._default = core.branches.read(repository, repository.default_branch).branch.commit_id
        self.complete = True
        """Whether each branch was looked at."""

    def unmerged(self) -> Iterator[UnmergedBranch]:
        """Yields the unmerged branches, by name."""
        for number, branch in enumerate(self._core.branches.all(self._repository)):
            if number == self._limits.branches or self._is_late:
                self.complete = False
                return
            if not self._is_shown(branch) or self._base(branch.commit_id) == branch.commit_id:
                continue
            head = self._core.commits.get(self._repository, branch.commit_id)
            yield UnmergedBranch(
                branch=branch.id,
                commit_id=branch.commit_id,
                changed_at=head.creation_date,
                expires_at=branch.expires_at,
                hidden=branch.hidden,
            )

    def with_objects(self, found: UnmergedBranch) -> UnmergedBranch:
        """Returns a branch with what it has added and changed, as far as the limits reach."""
        objects = size = 0
        complete = True
        for counted, change in enumerate(self._changes(found.commit_id)):
            if counted == self._limits.objects_of_branch or not self._objects_left or self._is_late:
                complete = False
                break
            self._objects_left -= 1
            if change.right is not None:
                objects += 1
                size += change.right.size
        return msgspec.structs.replace(found, objects=objects, bytes=size, complete=complete)

    def _changes(self, head: str) -> Iterator[Change]:
        """Yields the changes since a commit left the default branch."""
        differ, after = self._core.differ, ""
        with ExitStack() as trees:
            base, tree = (
                trees.enter_context(differ.tree_at(self._repository, Resolved(commit_id)))
                for commit_id in (self._base(head) or self._default, head)
            )
            while True:
                page = differ.two_dot(base, tree, after=after, amount=_PAGE)
                yield from page.items
                if not page.has_more:
                    return
                after = page.next_offset

    def _base(self, head: str) -> str:
        """Returns where a commit has left the default branch; itself, if that has it."""
        if head not in self._bases:
            base = self._core.history_index.merge_base(self._repository, self._default, head)
            self._bases[head] = base or ""
        return self._bases[head]

    @property
    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline
