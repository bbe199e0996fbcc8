"""Blame: the last commit that changed each object of a listing."""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.access.policies.permissions import Action
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.operations.commits.commits import Commit, to_commit
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, AtRef
from anabranch.rest.protocol.resources import on_repository
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination

__all__ = ["OPERATIONS"]


class BlameObjects(AtRef, frozen=True, kw_only=True):
    """Parameters of blameObjects."""

    prefix: str = ""
    after: str = ""
    delimiter: str = ""
    amount: Amount = DEFAULT_AMOUNT


class LastChange(msgspec.Struct, frozen=True):
    """An object or common prefix, and the last commit that changed it."""

    path: str
    path_type: Literal["object", "common_prefix"]
    commit: Commit


class LastChangeList(msgspec.Struct, frozen=True):
    """A page of last changes."""

    pagination: Pagination
    results: list[LastChange]


def blame_objects(call: Call[BlameObjects, None]) -> LastChangeList:
    """Returns a page of the committed objects at a reference with their last changes."""
    params = call.params
    page = call.services.catalog.blame.page(
        params.repository,
        params.ref,
        prefix=params.prefix,
        after=params.after,
        delimiter=params.delimiter,
        amount=page_amount(params.amount),
        readable=call.readable_paths(params.ref, params.prefix),
    )
    results = [
        LastChange(
            item.path, "common_prefix" if item.is_prefix else "object", to_commit(item.commit)
        )
        for item in page.items
    ]
    return LastChangeList(to_pagination(page), results)


OPERATIONS = (
    Operation(
        id="blameObjects",
        tag="objects",
        method="GET",
        path="/repositories/{repository}/refs/{ref}/objects/blame",
        summary="list objects with the last commit that changed each",
        permission=(
            Need(Action.LIST_OBJECTS, on_repository),
            Need(Action.LIST_COMMITS, on_repository),
        ),
        params=BlameObjects,
        response=LastChangeList,
        handler=blame_objects,
    ),
)
