"""Use cases of ends by pattern: read and set the rules, and decide who may give another end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission, branch_arn
from anabranch.errors import ReadOnlyRepository
from anabranch.model.references.branch_ends import BranchEnd, BranchEnds
from anabranch.versioning.core import Core

__all__ = ["BranchEndSettings"]


class BranchEndSettings:
    """Use cases of ends by pattern. `clock` returns seconds since 1970."""

    def __init__(self, core: Core, clock: Callable[[], float]) -> None:
        self._core = core
        self._clock = clock

    def rules(self, repository: str) -> BranchEnds:
        """Returns the current rules of a repository."""
        return self._core.branches.ends.read(self._core.repositories.get(repository)).ends

    def replace(
        self, repository: str, rules: Sequence[BranchEnd], *, if_match: str | None = None
    ) -> BranchEnds:
        """Replaces all rules of a repository, and returns them. Branches that exist keep their
        ends.

        Raises PreconditionFailed unless the current rules have the ETag `if_match`, if it is given
        (empty for rules that were never set); Invalid for a wrong rule; ReadOnlyRepository, which
        no caller can override.
        """
        stored = self._core.repositories.get(repository)
        if stored.read_only:
            raise ReadOnlyRepository("read-only repository", hint="")
        return self._core.branches.ends.replace(stored, rules, if_match=if_match)

    def require_allowed(
        self, repository: str, branch: str, expires_at: int | None, actor: Actor
    ) -> None:
        """Raises Denied if a new branch is to live longer than its rule says, and the actor may not
        change ends: that needs the permission to delete the branch. `expires_at` is in seconds
        since 1970, 0 for never; None leaves the end to the rule.
        """
        if expires_at is None:
            return
        rule = self.rules(repository).of(branch)
        if rule is None or 0 < expires_at <= int(self._clock()) + rule.seconds:
            return
        authorize(actor, [Permission(Action.DELETE_BRANCH, branch_arn(repository, branch))])
