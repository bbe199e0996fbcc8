"""Schemas of branches and tags: a name and its commit."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.model.page import Page
from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag
from anabranch.rest.schemas.pagination import Pagination, to_pagination

__all__ = ["Ref", "RefList", "ref_list", "to_ref"]


class Ref(msgspec.Struct, frozen=True):
    """A branch or a tag; listings omit a branch that is `hidden`. `expires_at` in seconds since
    1970, 0 for a branch that stays.
    """

    commit_id: str
    id: str
    hidden: bool | UnsetType = UNSET
    expires_at: int | UnsetType = UNSET


class RefList(msgspec.Struct, frozen=True):
    """A page of branches or tags."""

    pagination: Pagination
    results: list[Ref]


def to_ref(
    reference: Branch | Tag, *, include_hidden: bool = False, include_expiry: bool = False
) -> Ref:
    """Returns the schema of a branch or a tag."""
    hidden: bool | UnsetType = UNSET
    if include_hidden and isinstance(reference, Branch):
        hidden = reference.hidden
    expires_at: int | UnsetType = UNSET
    if include_expiry and isinstance(reference, Branch):
        expires_at = reference.expires_at
    return Ref(commit_id=reference.commit_id, id=reference.id, hidden=hidden, expires_at=expires_at)


def ref_list(
    page: Page[Branch] | Page[Tag], *, include_hidden: bool = False, include_expiry: bool = False
) -> RefList:
    """Returns the schema of a page of branches or tags."""
    results = [
        to_ref(item, include_hidden=include_hidden, include_expiry=include_expiry)
        for item in page.items
    ]
    return RefList(pagination=to_pagination(page), results=results)
