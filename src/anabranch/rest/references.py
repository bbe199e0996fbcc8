"""Branches and tags as the wire shows them: a name and the commit it stands for."""

from __future__ import annotations

import msgspec

from anabranch.model.branch import Branch
from anabranch.model.page import Page
from anabranch.model.tag import Tag
from anabranch.rest.pagination import Pagination, pagination_of

__all__ = ["Ref", "RefList", "ref_list", "ref_of"]


class Ref(msgspec.Struct, frozen=True):
    """A branch or a tag."""

    commit_id: str
    id: str


class RefList(msgspec.Struct, frozen=True):
    """A page of branches or tags."""

    pagination: Pagination
    results: list[Ref]


def ref_of(reference: Branch | Tag) -> Ref:
    """Returns a branch or a tag as the wire shows it."""
    return Ref(commit_id=reference.commit_id, id=reference.id)


def ref_list(page: Page[Branch] | Page[Tag]) -> RefList:
    """Returns a page of branches or tags as the wire shows it."""
    return RefList(pagination=pagination_of(page), results=[ref_of(item) for item in page.items])
