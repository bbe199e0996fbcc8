"""The users and groups that a pull request asks for a review, which lakeFS does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.catalog.reviewer_names import KnownNames
from anabranch.model.pull_request import (
    MAX_REVIEWERS,
    PullRequest,
    Reviewer,
    ReviewerKind,
    ReviewerState,
)
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtPull
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS", "PullRequestReviewer", "ReviewerName", "asked_reviewers", "to_reviewers"]


class ReviewerName(Body, frozen=True, kw_only=True):
    """A user, or a group, of whose members one suffices."""

    name: Annotated[str, Meta(min_length=1, max_length=1000)]
    kind: ReviewerKind = ReviewerKind.USER


class PullRequestReviewer(msgspec.Struct, frozen=True, kw_only=True):
    """A user or group that is asked for a review. The state is that of the present commit of the
    source, or of the merged one.
    """

    name: str
    kind: ReviewerKind
    state: ReviewerState


class ReviewersChange(Body, frozen=True, kw_only=True):
    """Who is asked for a review from now on, and who no longer."""

    add: Annotated[tuple[ReviewerName, ...], Meta(max_length=MAX_REVIEWERS)] = ()
    remove: Annotated[tuple[ReviewerName, ...], Meta(max_length=MAX_REVIEWERS)] = ()


class PullRequestReviewers(msgspec.Struct, frozen=True):
    """All who are asked for a review, in order of their names."""

    reviewers: list[PullRequestReviewer]


def change_reviewers(call: Call[AtPull, ReviewersChange]) -> PullRequestReviewers:
    """Changes who is asked for a review."""

    def to_response(pull: PullRequest) -> PullRequestReviewers:
        return PullRequestReviewers(asked_reviewers(call, [pull])[0])

    pull = call.services.catalog.reviewers.change(
        call.params.repository,
        call.params.pull_request,
        add=to_reviewers(call.body.add),
        remove=to_reviewers(call.body.remove),
        names=KnownNames(call.services.access),
        extra_writes=call.recording(to_response),
    )
    return to_response(pull)


def to_reviewers(names: Sequence[ReviewerName]) -> list[Reviewer]:
    """Returns the reviewers that a request names."""
    return [Reviewer(item.name, item.kind) for item in names]


def asked_reviewers(
    call: Call[Any, Any], pulls: Sequence[PullRequest]
) -> list[list[PullRequestReviewer]]:
    """Returns who is asked to review each of some pull requests of the call's repository."""
    asked = call.services.catalog.reviewers.asked_in(
        call.params.repository, pulls, KnownNames(call.services.access)
    )
    return [
        [
            PullRequestReviewer(name=item.reviewer.name, kind=item.reviewer.kind, state=item.state)
            for item in items
        ]
        for items in asked
    ]


OPERATIONS = (
    Operation(
        id="changePullRequestReviewers",
        tag="pulls",
        method="PATCH",
        path="/repositories/{repository}/pulls/{pull_request}/reviewers",
        summary="ask users and groups to review a pull request, and others no longer",
        permission=(Need(Action.WRITE_PULL_REQUEST, on_repository),),
        params=AtPull,
        body=ReviewersChange,
        response=PullRequestReviewers,
        keyed=True,
        handler=change_reviewers,
    ),
)
