"""Use cases of requested reviewers: who is asked to review a pull request, and who has answered.

A request grants no permission. Its answer is the reviewer's last review of the present commit of
the source: when the source moves, the pull request waits for the reviewer again. A group has
answered if one of its members has, other than the author.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from anabranch.catalog.pulls.heads import require_repository
from anabranch.catalog.reviewer_names import ANY_NAMES, ReviewerNames
from anabranch.errors import Invalid, NotFound
from anabranch.model.pull_request import (
    MAX_REVIEWERS,
    AskedReviewer,
    PullRequest,
    PullRequestStatus,
    Reviewer,
    ReviewerKind,
    ReviewerState,
    User,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.pulls import occurrences
from anabranch.versioning.pulls.pulls import require_open
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes

__all__ = ["Reviewers", "WaitsFor", "require_reviewers"]


class WaitsFor(msgspec.Struct, frozen=True):
    """A user for whom pull requests wait, with the user's groups."""

    username: str
    groups: frozenset[str] = frozenset()

    def asked_in(self, pull: PullRequest) -> list[Reviewer]:
        """Returns the names under which an open pull request asks the user; none for one of the
        user's own, which the user cannot review.
        """
        if pull.status is not PullRequestStatus.OPEN:
            return []
        if pull.author.is_same(User(self.username, self.username)):
            return []
        own = {ReviewerKind.USER: frozenset([self.username]), ReviewerKind.GROUP: self.groups}
        return [reviewer for reviewer in pull.reviewers if reviewer.name in own[reviewer.kind]]


class Reviewers:
    """Use cases of the users and groups that are asked for reviews."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def change(
        self,
        repository: str,
        pull_id: str,
        *,
        add: Collection[Reviewer] = (),
        remove: Collection[Reviewer] = (),
        names: ReviewerNames = ANY_NAMES,
        extra_writes: Sequence[ExtraWritesFor[PullRequest]] = (),
    ) -> PullRequest:
        """Asks users and groups to review an open pull request, and others no longer. Who is asked
        already stays so; `extra_writes` adds writes.

        Raises NotFound for the pull request, and (kind reviewer_not_asked) for one to `remove` who
        is not asked; Invalid if the pull request is not open, for a name that `names` refuses, the
        author's, and more than MAX_REVIEWERS.
        """
        stored_repository = require_repository(self._core, repository)
        for stored in self._core.pulls.attempts(stored_repository, pull_id):
            pull = stored.pull
            require_open(pull)
            reviewers = _without(pull.reviewers, remove)
            reviewers |= set(require_reviewers(repository, pull.author, add, names))
            _require_amount(reviewers)
            changed = msgspec.structs.replace(pull, reviewers=tuple(sorted(reviewers)))
            writes, expect = collect_extra_writes(extra_writes, changed)
            if added := [each for each in changed.reviewers if each not in pull.reviewers]:
                asked = occurrences.review_requested(changed, added)
                writes = [*writes, *self._core.outbox.writes(stored_repository, asked)]
            if self._core.pulls.replace(stored_repository, stored, changed, (writes, expect)):
                break
        return changed

    def asked(
        self, repository: str, pull: PullRequest, names: ReviewerNames = ANY_NAMES
    ) -> list[AskedReviewer]:
        """Returns who is asked to review a pull request, and the answers, in order of the names."""
        return self.asked_in(repository, [pull], names)[0]

    def asked_in(
        self, repository: str, pulls: Sequence[PullRequest], names: ReviewerNames = ANY_NAMES
    ) -> list[list[AskedReviewer]]:
        """Returns for each of these pull requests what `asked` does."""
        open_ones = (pull for pull in pulls if pull.reviewers and not pull.source_commit_id)
        sources = {pull.source for pull in open_ones}
        stored_repository = self._core.repositories.get(repository)
        heads = self._core.branches.heads(stored_repository, sources) if sources else {}
        return [
            [
                AskedReviewer(reviewer, _answer(pull, reviewer, commit_id, names))
                for reviewer in pull.reviewers
            ]
            for pull in pulls
            for commit_id in [pull.source_commit_id or heads.get(pull.source, "")]
        ]

    def waiting(
        self,
        repository: Repository,
        pulls: Iterable[PullRequest],
        waits_for: WaitsFor,
        names: ReviewerNames,
    ) -> Iterable[PullRequest]:
        """Yields those of these pull requests that wait for a user's review."""
        for pull in pulls:
            asked = waits_for.asked_in(pull)
            if not asked:
                continue
            commit_id = self._reviewed_commit(repository, pull)
            # whoever has reviewed the commit need not do so again for a group
            own = pull.answer_of([waits_for.username], commit_id)
            answers = (_answer(pull, reviewer, commit_id, names) for reviewer in asked)
            if own is ReviewerState.WAITING and ReviewerState.WAITING in answers:
                yield pull

    def _reviewed_commit(self, repository: Repository, pull: PullRequest) -> str:
        """Returns the commit of which reviews count: the merged one, or that of the source, empty
        if the source is gone.
        """
        if pull.source_commit_id:
            return pull.source_commit_id
        return self._core.branches.heads(repository, [pull.source]).get(pull.source, "")


def require_reviewers(
    repository: str, author: User, reviewers: Collection[Reviewer], names: ReviewerNames
) -> tuple[Reviewer, ...]:
    """Returns these reviewers, each once and in order. Raises Invalid as `Reviewers.change`."""
    ordered = tuple(sorted(set(reviewers)))
    _require_amount(ordered)
    for reviewer in ordered:
        user = User(reviewer.name, reviewer.name)
        if reviewer.kind is ReviewerKind.USER and author.is_same(user):
            raise Invalid(
                f"{reviewer.name!r} is the author of the pull request",
                kind="author_as_reviewer",
                hint="Ask other users: the author's own review does not count.",
            )
        names.require(repository, reviewer)
    return ordered


def _without(reviewers: Collection[Reviewer], removed: Collection[Reviewer]) -> set[Reviewer]:
    remaining = set(reviewers)
    for reviewer in set(removed):
        if reviewer not in remaining:
            raise NotFound(
                f"the {reviewer.kind} {reviewer.name!r} is not asked for a review",
                kind="reviewer_not_asked",
                hint="`anabranch pr show` lists who is asked.",
            )
        remaining.remove(reviewer)
    return remaining


def _require_amount(reviewers: Collection[Reviewer]) -> None:
    if len(reviewers) > MAX_REVIEWERS:
        raise Invalid(
            f"{len(reviewers)} reviewers, at most {MAX_REVIEWERS}",
            kind="too_many_reviewers",
            hint="Ask a group, of which one member suffices.",
        )


def _answer(
    pull: PullRequest, reviewer: Reviewer, commit_id: str, names: ReviewerNames
) -> ReviewerState:
    usernames: Collection[str] = [reviewer.name]
    if reviewer.kind is ReviewerKind.GROUP:
        reviewed = sorted({*pull.approvals, *pull.change_requests})
        usernames = names.members_among(reviewer.name, reviewed) if reviewed else ()
    return pull.answer_of(usernames, commit_id) if commit_id else ReviewerState.WAITING
