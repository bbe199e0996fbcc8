"""Use cases of pull requests: create, list, update, merge.

A merge checks the approvals that the destination requires, of exactly the commit that it merges.
Where some are required, only the destination's own rules settle conflicts: any other choice is
first a commit of the source, which is then approved. The merge marks the pull request as merged in
the step that moves the branch: either both happen or neither, and of several merges at once one
succeeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from anabranch.catalog.pulls.heads import read_head, require_repository
from anabranch.catalog.pulls.reviewers import Reviewers, WaitsFor, require_reviewers
from anabranch.catalog.pulls.reviews import Reviews, check_text
from anabranch.catalog.references.refs import Refs
from anabranch.catalog.reviewer_names import ANY_NAMES, ReviewerNames
from anabranch.errors import Conflict, Invalid
from anabranch.model.commits.commit import Commit
from anabranch.model.commits.conflict import MergePreview, Resolution
from anabranch.model.names import check_branch
from anabranch.model.page import Page, take_page
from anabranch.model.pull_request import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    PullRequest,
    PullRequestStatus,
    Reviewer,
    User,
    parse_status,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.pulls.pulls import StoredPull, require_open
from anabranch.versioning.records import keys
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import (
    ExtraWrites,
    ExtraWritesFor,
    collect_extra_writes,
)

__all__ = ["Pulls"]

_ALL = frozenset(PullRequestStatus)


class Pulls:
    """Use cases of pull requests."""

    def __init__(self, core: Core, refs: Refs, reviews: Reviews, reviewers: Reviewers) -> None:
        self._core = core
        self._refs = refs
        self._reviews = reviews
        self._reviewers = reviewers

    def create(
        self,
        repository: str,
        *,
        title: str,
        source: str,
        destination: str,
        description: str = "",
        author: str,
        username: str = "",
        reviewers: Collection[Reviewer] = (),
        names: ReviewerNames = ANY_NAMES,
        extra_writes: Sequence[ExtraWritesFor[PullRequest]] = (),
    ) -> PullRequest:
        """Creates a pull request to merge the branch `source` into `destination`, and asks
        `reviewers` to review it. `username` is the user whom the author's name stands for, by
        default the name itself; `extra_writes` adds writes.

        Raises NotFound for a branch that does not exist, Invalid if both are the same, and for
        reviewers as `Reviewers.change` does.
        """
        check_text("title", title, MAX_TITLE_CHARACTERS)
        check_text("description", description, MAX_DESCRIPTION_CHARACTERS)
        with self._core.prefetch(("new pull", repository), keys.branch(source)):
            stored_repository = require_repository(self._core, repository)
            for branch in (source, destination):
                check_branch(branch)
                read_head(self._core, stored_repository, branch)
        if source == destination:
            raise Invalid(
                "source and destination branches are the same: same branch validation error",
                kind="same_branch",
                hint="The source of a pull request must differ from its destination.",
            )
        user = User(author, username or author)
        asked = require_reviewers(repository, user, reviewers, names)
        return self._core.pulls.create(
            stored_repository,
            title=title,
            description=description,
            author=user,
            source=source,
            destination=destination,
            reviewers=asked,
            extra_writes=extra_writes,
        )

    def get(self, repository: str, pull_id: str) -> PullRequest:
        """Returns a pull request. Raises NotFound."""
        with self._core.prefetch(("pull", repository), keys.pull(pull_id)):
            return self._read(repository, pull_id)[1].pull

    def list(
        self,
        repository: str,
        *,
        statuses: Collection[PullRequestStatus] = _ALL,
        waits_for: WaitsFor | None = None,
        names: ReviewerNames = ANY_NAMES,
        prefix: str = "",
        after: str = "",
        amount: int,
    ) -> Page[PullRequest]:
        """Returns a page of the pull requests with one of these statuses, newest first; only those
        that wait for a review of a user, if one is given.
        """
        stored_repository = self._core.repositories.get(repository)
        pulls = self._core.pulls.iterate(stored_repository, prefix=prefix, after=after)
        found: Iterable[PullRequest] = (pull for pull in pulls if pull.status in statuses)
        if waits_for is not None:
            found = self._reviewers.waiting(stored_repository, found, waits_for, names)
        return take_page(found, amount, lambda pull: pull.id)

    def update(
        self,
        repository: str,
        pull_id: str,
        *,
        title: str | None = None,
        description: str | None = None,
        status: str | None = None,
        extra_writes: Sequence[ExtraWritesFor[PullRequest]] = (),
    ) -> PullRequest:
        """Changes the title or the description of a pull request, closes it or opens it again;
        what is None stays as it is. `extra_writes` adds writes.

        Raises NotFound, and Invalid for a status that does not exist, for another status of a
        merged pull request, and for the status `merged`, which only a merge sets.
        """
        check_text("title", title or "", MAX_TITLE_CHARACTERS)
        check_text("description", description or "", MAX_DESCRIPTION_CHARACTERS)
        stored_repository = require_repository(self._core, repository)
        wanted = None if status is None else parse_status(status)
        for stored in self._core.pulls.attempts(stored_repository, pull_id):
            pull = stored.pull
            status_after = pull.status if wanted is None else wanted
            if status_after is not pull.status and PullRequestStatus.MERGED in (
                pull.status,
                status_after,
            ):
                raise Invalid(
                    "bad pull request status",
                    kind="invalid_pull_request_status",
                    hint="A merged pull request stays merged."
                    if pull.status is PullRequestStatus.MERGED
                    else "Merge the pull request to give it this status.",
                )
            changed = msgspec.structs.replace(
                self._core.pulls.set_status(pull, status_after),
                title=pull.title if title is None else title,
                description=pull.description if description is None else description,
            )
            extra = collect_extra_writes(extra_writes, changed)
            if self._core.pulls.replace(stored_repository, stored, changed, extra):
                break
        return changed

    def merge(
        self,
        repository: str,
        pull_id: str,
        *,
        committer: str | None = None,
        message: str = "",
        metadata: Mapping[str, str] | None = None,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
        rights: ContentRights | None = None,
        squash: bool = False,
        allow_empty: bool = False,
        force: bool = False,
        extra_writes: Sequence[ExtraWritesFor[Commit]] = (),
    ) -> str:
        """Merges the source of an open pull request into its destination, as `refs.merge` does;
        returns the id of the new commit. `extra_writes` adds writes.

        Raises Invalid if the pull request is not open, NotFound if a branch is gone, Denied if a
        rule requires more approvals of the source's commit (kind approvals_missing), or approvals
        at all and there is a `strategy` or a resolution (kind unreviewed_choices), and what a merge
        raises. The pull request then stays as it was.
        """
        settles = bool(strategy or resolutions)
        with self._core.prefetch(("merge pull", repository), keys.pull(pull_id)):
            stored_repository, stored = self._read(repository, pull_id)
            require_open(stored.pull)
            check_writable(stored_repository, force=force)
            head = read_head(self._core, stored_repository, stored.pull.source)
            read_head(self._core, stored_repository, stored.pull.destination)
            self._reviews.require_approvals(
                stored_repository, stored.pull, settles=settles, commit_id=head
            )
            merge = RecordMerge(
                *(self._core, self._reviews, stored_repository, pull_id, head), settles=settles
            )
        source, destination = stored.pull.source, stored.pull.destination
        try:
            return self._refs.merge(
                repository,
                head,
                destination,
                committer=committer,
                message=message or f"Merge '{source}' into '{destination}'",
                metadata=metadata,
                strategy=strategy,
                resolutions=resolutions,
                rights=rights,
                squash=squash,
                allow_empty=allow_empty,
                force=force,
                reviewed=True,
                source_branch=source,
                pull_id=pull_id,
                extra_writes=(merge, *extra_writes),
            )
        except (Invalid, Conflict):
            # another merge of the pull request may have been first, and left nothing to merge
            require_open(self._core.pulls.read(stored_repository, pull_id).pull)
            raise

    def preview_merge(
        self,
        repository: str,
        pull_id: str,
        *,
        strategy: str = "",
        resolutions: Sequence[Resolution] = (),
        rights: ContentRights | None = None,
    ) -> MergePreview:
        """Returns what merging an open pull request would do, approvals apart. Raises Invalid if it
        is not open, Denied (kind unreviewed_choices) as `merge` does, and what `refs.preview_merge`
        raises.
        """
        stored_repository, stored = self._read(repository, pull_id)
        require_open(stored.pull)
        if strategy or resolutions:
            self._reviews.require_no_approvals(stored_repository, stored.pull)
        return self._refs.preview_merge(
            *(repository, stored.pull.source, stored.pull.destination),
            strategy=strategy,
            resolutions=resolutions,
            rights=rights,
        )

    def _read(self, repository: str, pull_id: str) -> tuple[Repository, StoredPull]:
        stored_repository = self._core.repositories.get(repository)
        return stored_repository, self._core.pulls.read(stored_repository, pull_id)


class RecordMerge(msgspec.Struct, frozen=True):
    """Marks a pull request as merged, in the step that moves the branch: if it is still open, and
    has the approvals that the destination requires of the source's commit.
    """

    core: Core
    reviews: Reviews
    repository: Repository
    pull_id: str
    source_commit_id: str
    settles: bool

    def writes_for(self, commit: Commit, /) -> ExtraWrites:
        """Returns the writes. Raises Invalid, and Denied as `Reviews.require_approvals` does."""
        current = self.core.pulls.read(self.repository, self.pull_id)
        require_open(current.pull)
        _, unchanged = self.reviews.require_approvals(
            self.repository, current.pull, self.source_commit_id, settles=self.settles
        )
        writes, expect = self.core.pulls.record_merge(
            self.repository,
            current,
            source_commit_id=self.source_commit_id,
            commit_id=commit.id,
        )
        return writes, [*expect, *unchanged]
