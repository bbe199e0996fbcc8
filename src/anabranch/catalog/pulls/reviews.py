"""Use cases of comments on pull requests and of reviews, and the approvals that merges need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.pulls.heads import read_head, require_repository
from anabranch.catalog.pulls.places import find_place
from anabranch.errors import Conflict, Denied, Invalid
from anabranch.model.names import check_path
from anabranch.model.page import Page, take_page
from anabranch.model.pull_request import (
    MAX_TEXT_CHARACTERS,
    Comment,
    DifferenceSide,
    PullRequest,
    Review,
    ReviewState,
    User,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.pulls.pulls import StoredPull
from anabranch.versioning.staging.extra_writes import ExtraWrites, ExtraWritesFor

__all__ = ["Approvals", "Reviews", "check_text"]


class Approvals(NamedTuple):
    """The reviews that approve a commit of the source, and how many must; `commit_id` is that
    commit, the source's present one or the one that was merged, empty if the source is gone.
    """

    review_ids: frozenset[str]
    required: int
    commit_id: str


class Reviews:
    """Use cases of comments and reviews."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def comment(
        self,
        repository: str,
        pull_id: str,
        text: str,
        *,
        path: str = "",
        line: int | None = None,
        row: Mapping[str, Any] | None = None,
        side: DifferenceSide = DifferenceSide.AFTER,
        commit_id: str = "",
        author: str,
        username: str = "",
        extra_writes: Sequence[ExtraWritesFor[Comment]] = (),
    ) -> Comment:
        """Adds a comment to a pull request of any status or, with a `path`, to an object in it, or
        to a `line` of its text, counted from 1, or the `row` of its table with these values in the
        key columns. These are of the object at a commit, by default the source's present one, and
        on a `side` of the difference. `extra_writes` adds writes.

        Raises NotFound, and Invalid for an empty text, or (kind invalid_place) an impossible place.
        """
        check_text("text", text, MAX_TEXT_CHARACTERS, required=True)
        if path:
            check_path(path)
        require_repository(self._core, repository)
        stored_repository, stored = self._read(repository, pull_id)
        place = find_place(
            *(self._core, stored_repository, stored.pull),
            path=path,
            line=line,
            row=row,
            side=side,
            commit_id=commit_id,
        )
        return self._core.reviews.comment(
            stored_repository,
            stored.pull,
            author=User(author, username or author),
            text=text,
            path=path,
            place=place,
            extra_writes=extra_writes,
        )

    def comments(
        self,
        repository: str,
        pull_id: str,
        *,
        readable: ReadablePaths | None = None,
        after: str = "",
        amount: int,
    ) -> Page[Comment]:
        """Returns a page of a pull request's comments, oldest first; without those on objects whose
        paths are not `readable`, if these are given.
        """
        stored_repository, stored = self._read(repository, pull_id)
        comments = self._core.reviews.comments(stored_repository, stored.pull, after=after)
        shown = (
            item for item in comments if not item.path or readable is None or item.path in readable
        )
        return take_page(shown, amount, lambda item: item.id)

    def create(
        self,
        repository: str,
        pull_id: str,
        state: str,
        *,
        text: str = "",
        commit_id: str = "",
        author: str,
        username: str = "",
        extra_writes: Sequence[ExtraWritesFor[Review]] = (),
    ) -> Review:
        """Adds a review of the commit at which the source is; it replaces the user's earlier one.
        The state is approved or changes_requested.
        `commit_id` is the commit that the reviewer has seen, if known. `extra_writes` adds writes.

        Raises NotFound, Invalid if the pull request is not open, Conflict (kind source_moved) if
        the source is at another commit than `commit_id`.
        """
        if state not in tuple(ReviewState):
            raise Invalid(
                "argument state: invalid value: validation error",
                kind="invalid_review_state",
                hint=f"Use {' or '.join(ReviewState)}.",
            )
        check_text("text", text, MAX_TEXT_CHARACTERS)
        stored_repository = require_repository(self._core, repository)

        def source_commit(pull: PullRequest) -> str:
            head = read_head(self._core, stored_repository, pull.source)
            if commit_id not in ("", head):
                raise Conflict(
                    f"the source {pull.source} is at commit {head}, not at {commit_id}",
                    kind="source_moved",
                    hint="Look at what has changed, and review it again.",
                )
            return head

        return self._core.reviews.review(
            stored_repository,
            pull_id,
            author=User(author, username or author),
            state=ReviewState(state),
            text=text,
            source_commit=source_commit,
            extra_writes=extra_writes,
        )

    def list(self, repository: str, pull_id: str, *, after: str = "", amount: int) -> Page[Review]:
        """Returns a page of a pull request's reviews, oldest first."""
        stored_repository, stored = self._read(repository, pull_id)
        return self._core.reviews.reviews(
            stored_repository, stored.pull, after=after, amount=amount
        )

    def approvals(self, repository: str, pull_id: str) -> Approvals:
        """Returns the approvals of a pull request. Raises NotFound."""
        stored_repository, (pull, _) = self._read(repository, pull_id)
        commit_id = pull.source_commit_id
        if not commit_id:
            source = self._core.branches.find(stored_repository, pull.source)
            commit_id = "" if source is None else source.branch.commit_id
        rules = self._core.protection.read(stored_repository).rules
        required = rules.required_approvals(pull.destination)
        return Approvals(pull.approvals_of(commit_id), required, commit_id)

    def require_approvals(
        self, repository: Repository, pull: PullRequest, commit_id: str, *, settles: bool
    ) -> ExtraWrites:
        """Returns the condition that the rules do not change. Raises Denied if one of them requires
        approvals, and the merge `settles` conflicts by choices that the reviewers have not seen
        (kind unreviewed_choices), or the pull request has too few of the commit (kind
        approvals_missing).
        """
        stored = self._core.protection.read(repository)
        required = stored.rules.required_approvals(pull.destination)
        if required and settles:
            raise _unreviewed_choices(pull)
        missing = required - len(pull.approvals_of(commit_id))
        if missing > 0:
            raise Denied(
                f"{missing} of {required} required approval{'s' if required > 1 else ''} "
                f"{'are' if missing > 1 else 'is'} missing",
                kind="approvals_missing",
                hint=f"Ask {missing} other user{'s' if missing > 1 else ''} than the author to "
                f"approve commit {commit_id} of {pull.source}. Approvals of earlier commits do not "
                "count.",
            )
        return (), [stored.unchanged(repository)]

    def require_no_approvals(self, repository: Repository, pull: PullRequest) -> None:
        """Raises Denied (kind unreviewed_choices) if a rule requires approvals, so that a merge may
        not settle conflicts by choices.
        """
        if self._core.protection.read(repository).rules.required_approvals(pull.destination):
            raise _unreviewed_choices(pull)

    def _read(self, repository: str, pull_id: str) -> tuple[Repository, StoredPull]:
        stored_repository = self._core.repositories.get(repository)
        return stored_repository, self._core.pulls.read(stored_repository, pull_id)


def _unreviewed_choices(pull: PullRequest) -> Denied:
    return Denied(
        f"the branch {pull.destination} requires approvals: merging a pull request into it takes "
        "no strategy and no resolutions",
        kind="unreviewed_choices",
        hint=f"Merge {pull.destination} into {pull.source} with your choices, and ask for "
        "approvals of that commit.",
    )


def check_text(name: str, text: str, most: int, *, required: bool = False) -> None:
    """Raises Invalid for a text that is too long, is not Unicode, or is empty if `required`."""
    reason = ""
    if required and not text.strip():
        reason = "required value"
    elif len(text) > most:
        reason = f"{len(text):,} characters, at most {most:,}"
    else:
        try:
            text.encode()
        except UnicodeEncodeError:
            reason = "not UTF-8"
    if reason:
        raise Invalid(f"argument {name}: {reason}: validation error", kind=f"invalid_{name}")
