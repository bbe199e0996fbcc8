"""Tags: list, create, get, delete."""

from __future__ import annotations

import msgspec

from anabranch.access.permissions import Action
from anabranch.rest.call import Call
from anabranch.rest.operation import Need, Operation
from anabranch.rest.pagination import PageOfRepository, amount_of
from anabranch.rest.parameters import InRepository
from anabranch.rest.references import Ref, RefList, ref_list, ref_of
from anabranch.rest.resources import on_new_tag, on_repository, on_tag

__all__ = ["OPERATIONS"]


class TagCreation(msgspec.Struct, frozen=True, kw_only=True):
    """A tag to make, on whatever commit a reference names."""

    id: str
    ref: str
    force: bool = False


class AtTag(InRepository, frozen=True, kw_only=True):
    """Parameters of getTag."""

    tag: str


class DeleteTag(AtTag, frozen=True, kw_only=True):
    """Parameters of deleteTag."""

    force: bool = False


def list_tags(call: Call[PageOfRepository, None]) -> RefList:
    """Returns a page of tags."""
    asked = call.params
    page = call.services.catalog.tags.list(
        asked.repository, prefix=asked.prefix, after=asked.after, amount=amount_of(asked.amount)
    )
    return ref_list(page)


def create_tag(call: Call[InRepository, TagCreation]) -> Ref:
    """Makes a tag."""
    asked = call.body
    tag = call.services.catalog.tags.create(
        call.params.repository,
        asked.id,
        asked.ref,
        force=asked.force,
        beside=call.recording(ref_of),
    )
    return ref_of(tag)


def get_tag(call: Call[AtTag, None]) -> Ref:
    """Returns a tag."""
    return ref_of(call.services.catalog.tags.get(call.params.repository, call.params.tag))


def delete_tag(call: Call[DeleteTag, None]) -> None:
    """Removes a tag."""
    asked = call.params
    call.services.catalog.tags.delete(
        asked.repository, asked.tag, force=asked.force, beside=call.recording(_nothing)
    )


def _nothing(_: object) -> None:
    """Returns what is answered to a deletion."""


_TAGS = "/repositories/{repository}/tags"
_TAG = _TAGS + "/{tag}"

OPERATIONS = (
    Operation(
        id="listTags",
        tag="tags",
        method="GET",
        path=_TAGS,
        summary="list tags",
        permission=(Need(Action.LIST_TAGS, on_repository),),
        params=PageOfRepository,
        response=RefList,
        handler=list_tags,
    ),
    Operation(
        id="createTag",
        tag="tags",
        method="POST",
        path=_TAGS,
        summary="create tag",
        permission=(Need(Action.CREATE_TAG, on_new_tag),),
        params=InRepository,
        body=TagCreation,
        status=201,
        response=Ref,
        keyed=True,
        handler=create_tag,
    ),
    Operation(
        id="getTag",
        tag="tags",
        method="GET",
        path=_TAG,
        summary="get tag",
        permission=(Need(Action.READ_TAG, on_tag),),
        params=AtTag,
        response=Ref,
        quick=True,
        handler=get_tag,
    ),
    Operation(
        id="deleteTag",
        tag="tags",
        method="DELETE",
        path=_TAG,
        summary="delete tag",
        permission=(Need(Action.DELETE_TAG, on_tag),),
        params=DeleteTag,
        status=204,
        keyed=True,
        handler=delete_tag,
    ),
)
