"""Comments on pull requests, and reviews, which lakeFS does not have."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.policies.permissions import Action
from anabranch.catalog.pulls.places import MAX_LINE
from anabranch.model import pull_request as model
from anabranch.model.names import MAX_PATH_BYTES
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.model.pull_request import MAX_TEXT_CHARACTERS, DifferenceSide, ReviewState
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, AtPull
from anabranch.rest.protocol.resources import on_commented_object, on_repository
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination

__all__ = ["OPERATIONS"]

_Text = Annotated[str, Meta(max_length=MAX_TEXT_CHARACTERS)]

_Row = Annotated[
    dict[str, Any],
    Meta(
        description="the values of a row of the table in its key columns",
        extra_json_schema={"additionalProperties": True},
    ),
]


class CommentCreation(Body, frozen=True, kw_only=True):
    """A comment to add, on an object if it has a path, or on a line or a row of it."""

    text: Annotated[str, Meta(min_length=1, max_length=MAX_TEXT_CHARACTERS)]
    path: Annotated[str, Meta(max_length=MAX_PATH_BYTES, description="relative to the ref")] = ""
    line: (
        Annotated[int, Meta(ge=1, le=MAX_LINE, description="of the object's text")] | UnsetType
    ) = UNSET
    row: _Row | UnsetType = UNSET
    side: Annotated[
        DifferenceSide, Meta(description="the version of the object that has the line or the row")
    ] = DifferenceSide.AFTER
    commit_id: Annotated[
        str,
        Meta(
            max_length=64,
            description="the commit at which the object has the line or the row; by default the "
            "source's present one",
        ),
    ] = ""


class CommentPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The line or the row that a comment is on, in the object at a commit."""

    side: DifferenceSide
    commit_id: str
    line: int | UnsetType = UNSET
    row: _Row | UnsetType = UNSET


class PullRequestComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment."""

    id: str
    author: str
    text: str
    path: str | UnsetType = UNSET
    place: CommentPlace | UnsetType = UNSET
    creation_date: datetime


class PullRequestCommentList(msgspec.Struct, frozen=True):
    """A page of comments, oldest first."""

    pagination: Pagination
    results: list[PullRequestComment]


class ReviewCreation(Body, frozen=True, kw_only=True):
    """A review to add."""

    state: ReviewState
    text: _Text = ""
    commit_id: Annotated[
        str,
        Meta(
            max_length=64,
            description="the source's commit that was reviewed; 409 if the source has moved",
        ),
    ] = ""


class PullRequestReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review. It `counts` if it is an approval of the source's present commit, or of the merged
    one, not by the author, and the user's last review.
    """

    id: str
    author: str
    state: ReviewState
    text: str
    commit_id: str
    creation_date: datetime
    counts: bool


class PullRequestReviewList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of reviews, oldest first; how many approvals the pull request has and needs; the
    commit that they are counted for, if the source exists.
    """

    pagination: Pagination
    results: list[PullRequestReview]
    approvals: int
    required_approvals: int
    commit_id: str | UnsetType = UNSET


class PageOfPull(AtPull, frozen=True, kw_only=True):
    """Parameters of pages in a pull request."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


def list_comments(call: Call[PageOfPull, None]) -> PullRequestCommentList:
    """Returns a page of comments, without those on objects that the caller may not read."""
    params = call.params
    page = call.services.catalog.reviews.comments(
        params.repository,
        params.pull_request,
        readable=call.readable_paths("", ""),
        after=params.after,
        amount=page_amount(params.amount),
    )
    return PullRequestCommentList(
        pagination=to_pagination(page), results=[_to_comment(item) for item in page.items]
    )


def create_comment(call: Call[AtPull, CommentCreation]) -> PullRequestComment:
    """Adds a comment."""
    body = call.body
    comment = call.services.catalog.reviews.comment(
        call.params.repository,
        call.params.pull_request,
        body.text,
        path=body.path,
        line=None if body.line is UNSET else body.line,
        row=None if body.row is UNSET else body.row,
        side=body.side,
        commit_id=body.commit_id,
        author=call.committer,
        username=call.username,
        extra_writes=call.recording(_to_comment),
    )
    return _to_comment(comment)


def list_reviews(call: Call[PageOfPull, None]) -> PullRequestReviewList:
    """Returns a page of reviews."""
    params, reviews = call.params, call.services.catalog.reviews
    page = reviews.list(
        params.repository,
        params.pull_request,
        after=params.after,
        amount=page_amount(params.amount),
    )
    approvals = reviews.approvals(params.repository, params.pull_request)
    return PullRequestReviewList(
        pagination=to_pagination(page),
        results=[_to_review(item, counts=item.id in approvals.review_ids) for item in page.items],
        approvals=len(approvals.review_ids),
        required_approvals=approvals.required,
        commit_id=approvals.commit_id or UNSET,
    )


def create_review(call: Call[AtPull, ReviewCreation]) -> PullRequestReview:
    """Adds a review."""
    body = call.body
    review = call.services.catalog.reviews.create(
        call.params.repository,
        call.params.pull_request,
        body.state,
        text=body.text,
        commit_id=body.commit_id,
        author=call.committer,
        username=call.username,
        extra_writes=call.recording(_to_new_review),
    )
    return _to_new_review(review)


def _to_comment(comment: model.Comment) -> PullRequestComment:
    return PullRequestComment(
        id=comment.id,
        author=comment.author.name,
        text=comment.text,
        path=comment.path or UNSET,
        place=UNSET if comment.place is None else _to_place(comment.place),
        creation_date=comment.creation_date,
    )


def _to_place(place: model.Place) -> CommentPlace:
    return CommentPlace(
        side=place.side,
        commit_id=place.commit_id,
        line=UNSET if place.line is None else place.line,
        row=UNSET if place.row is None else place.row,
    )


def _to_new_review(review: model.Review) -> PullRequestReview:
    return _to_review(review, counts=review.counted)


def _to_review(review: model.Review, *, counts: bool) -> PullRequestReview:
    return PullRequestReview(
        id=review.id,
        author=review.author.name,
        state=review.state,
        text=review.text,
        commit_id=review.commit_id,
        creation_date=review.creation_date,
        counts=counts,
    )


_PULL = "/repositories/{repository}/pulls/{pull_request}"
_READ_PERMISSION = (Need(Action.READ_PULL_REQUEST, on_repository),)
_WRITE_PERMISSION = (Need(Action.WRITE_PULL_REQUEST, on_repository),)

OPERATIONS = (
    Operation(
        id="listPullRequestComments",
        tag="pulls",
        method="GET",
        path=_PULL + "/comments",
        summary="list the comments on a pull request",
        permission=_READ_PERMISSION,
        params=PageOfPull,
        response=PullRequestCommentList,
        handler=list_comments,
    ),
    Operation(
        id="createPullRequestComment",
        tag="pulls",
        method="POST",
        path=_PULL + "/comments",
        summary="comment on a pull request",
        permission=(*_WRITE_PERMISSION, Need(Action.READ_OBJECT, on_commented_object)),
        params=AtPull,
        body=CommentCreation,
        status=201,
        response=PullRequestComment,
        keyed=True,
        handler=create_comment,
    ),
    Operation(
        id="listPullRequestReviews",
        tag="pulls",
        method="GET",
        path=_PULL + "/reviews",
        summary="list the reviews of a pull request, and its approvals",
        permission=_READ_PERMISSION,
        params=PageOfPull,
        response=PullRequestReviewList,
        handler=list_reviews,
    ),
    Operation(
        id="createPullRequestReview",
        tag="pulls",
        method="POST",
        path=_PULL + "/reviews",
        summary="approve a pull request, or request changes",
        permission=_WRITE_PERMISSION,
        params=AtPull,
        body=ReviewCreation,
        status=201,
        response=PullRequestReview,
        keyed=True,
        handler=create_review,
    ),
)
