"""Tags: list, create, get, delete."""

from __future__ import annotations

from functools import partial

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import Action, Permission, tag_arn
from anabranch.http.execution import Execution
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import on_new_tag, on_repository, on_tag
from anabranch.rest.protocol.responses import no_content
from anabranch.rest.schemas.pagination import PageOfRepository, brief_page_amount
from anabranch.rest.schemas.references import Ref, RefList, ref_list, to_ref

__all__ = ["OPERATIONS"]


class TagCreation(Body, frozen=True, kw_only=True):
    """A tag to create at the commit of a reference."""

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
    """Returns a page of the tags that the user may read."""
    params = call.params
    page = visible_items(
        partial(call.services.catalog.tags.list, params.repository, prefix=params.prefix),
        call.actor,
        lambda tag: tag.id,
        lambda name: Permission(Action.READ_TAG, tag_arn(params.repository, name)),
        after=params.after,
        amount=brief_page_amount(params.amount),
    )
    return ref_list(page)


def create_tag(call: Call[InRepository, TagCreation]) -> Ref:
    """Creates a tag."""
    body = call.body
    tag = call.services.catalog.tags.create(
        call.params.repository,
        body.id,
        body.ref,
        force=body.force,
        extra_writes=call.recording(to_ref),
    )
    return to_ref(tag)


def get_tag(call: Call[AtTag, None]) -> Ref:
    """Returns a tag."""
    return to_ref(call.services.catalog.tags.get(call.params.repository, call.params.tag))


def delete_tag(call: Call[DeleteTag, None]) -> None:
    """Deletes a tag."""
    params = call.params
    call.services.catalog.tags.delete(
        params.repository, params.tag, force=params.force, extra_writes=call.recording(no_content)
    )


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
        execution=Execution.BRIEF_READ,
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
        execution=Execution.BRIEF_CHANGE,
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
        execution=Execution.INLINE,
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
        execution=Execution.BRIEF_CHANGE,
        handler=delete_tag,
    ),
)
