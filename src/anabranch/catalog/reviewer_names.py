"""The users and groups that can be asked for a review, and who belongs to a group.

Without a server there are no users: any name can be asked, and groups have no members.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from anabranch.access.access import Access
from anabranch.access.policies.permissions import Action, Permission, repository_arn
from anabranch.errors import Invalid
from anabranch.model.pull_request import Reviewer, ReviewerKind

__all__ = ["ANY_NAMES", "KnownNames", "ReviewerNames"]

_READ = (Action.READ_REPOSITORY, Action.READ_PULL_REQUEST)
_MEMBERS_EXAMINED = 1000


class ReviewerNames(Protocol):
    """Who can be asked for a review."""

    def require(self, repository: str, reviewer: Reviewer) -> None:
        """Raises Invalid for a name that does not exist (kind unknown_reviewer), and for one that
        may not read the pull requests of the repository (kind reviewer_cannot_read).
        """

    def members_among(self, group: str, usernames: Collection[str]) -> Collection[str]:
        """Returns those of these users who belong to a group."""


class _AnyNames:
    def require(self, repository: str, reviewer: Reviewer) -> None:
        """Accepts all names."""

    def members_among(
        self,
        group: str,  # noqa: ARG002  no group has members
        usernames: Collection[str],  # noqa: ARG002
    ) -> Collection[str]:
        """Returns no users."""
        return ()


ANY_NAMES: ReviewerNames = _AnyNames()
"""The names of a program without users, such as one that uses the library."""


class KnownNames:
    """The users and groups of an installation."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def require(self, repository: str, reviewer: Reviewer) -> None:
        """Raises as `ReviewerNames.require`."""
        name, kind = reviewer.name, reviewer.kind
        found: object | None
        if kind is ReviewerKind.USER:
            found = self._access.users.find(name)
            reads = found is not None and self._may_read(repository, name)
        else:
            found = self._access.groups.find(name)
            reads = found is not None and self._member_reads(repository, name)
        if found is None:
            raise Invalid(
                f"there is no {kind} {name!r} to ask for a review",
                kind="unknown_reviewer",
                hint="Names are exact; users and groups are asked by separate names.",
            )
        if not reads:
            who = f"the user {name!r}" if kind is ReviewerKind.USER else f"no member of {name!r}"
            raise Invalid(
                f"{who} {'may not' if kind is ReviewerKind.USER else 'may'} read the pull requests "
                f"of {repository}",
                kind="reviewer_cannot_read",
                hint=f"Asking grants no permission: {' and '.join(_READ)} on the repository are "
                "needed.",
            )

    def members_among(self, group: str, usernames: Collection[str]) -> Collection[str]:
        """Returns those of these users who belong to a group."""
        return [name for name in usernames if self._access.memberships.exists(group, name)]

    def _may_read(self, repository: str, username: str) -> bool:
        actor = self._access.actors.find(username)
        if actor is None:  # deactivated
            return False
        # conditions, such as on the address, cannot be known before the user's request
        return actor.is_conditional or all(
            actor.may(Permission(action, repository_arn(repository))) for action in _READ
        )

    def _member_reads(self, repository: str, group: str) -> bool:
        page = self._access.memberships.page(group, "", "", _MEMBERS_EXAMINED)
        return page.has_more or any(self._may_read(repository, name) for name in page.items)
