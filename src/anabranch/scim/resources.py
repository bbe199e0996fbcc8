"""Models of resources: SCIM's, with names that cannot change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar
from unicodedata import normalize
from urllib.parse import quote

from pydantic import Field
from scim2_models import (
    CaseExact,
    ComplexAttribute,
    Meta,
    Mutability,
    Reference,
    Required,
    Resource,
    ScimPolicy,
    SearchRequest,
    Uniqueness,
)
from scim2_models import Group as StandardGroup
from scim2_models import User as StandardUser

__all__ = [
    "POLICY",
    "Group",
    "Member",
    "Selected",
    "User",
    "filtered_name",
    "fold_case",
    "meta",
    "select",
]

POLICY = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
"""What clients may do beyond the specification: Microsoft's and Okta's do."""

MAX_RESULTS = 1000
_DEFAULT_RESULTS = 100

_BY_NAME = re.compile(r'\s*(\w+)\s+eq\s+"([^"\\]*)"\s*', re.IGNORECASE)

ResourceT = TypeVar("ResourceT", bound=Resource[Any])


class User(StandardUser):  # type: ignore[type-arg]
    """A user."""

    user_name: Annotated[str | None, Uniqueness.server, Mutability.immutable, Required.true] = None


class Member(ComplexAttribute):
    """A member of a group, by the user's id."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    ref: Annotated[Reference[User] | None, Mutability.immutable] = Field(
        None, serialization_alias="$ref", validation_alias="$ref"
    )


class Group(StandardGroup):
    """A group."""

    display_name: Annotated[str | None, Uniqueness.server, Mutability.immutable, Required.true] = (
        None
    )
    members: list[Member] | None = None  # type: ignore[assignment]


def fold_case(name: str) -> str:
    """Returns a name as it is compared with others: without the case of its letters."""
    return normalize("NFC", normalize("NFC", name).lower())


def filtered_name(expression: str, attribute: str) -> str | None:
    """Returns the folded value that a filter asks for in an attribute, in lowercase; None for any
    other filter. Clients look users and groups up by such filters before each change.
    """
    match = _BY_NAME.fullmatch(expression)
    if match is None or match[1].lower() != attribute:
        return None
    return fold_case(match[2])


class Selected(list[ResourceT]):
    """A page of the resources that a request selects; `total` is the number of all."""

    total = 0


def select(
    resources: Sequence[ResourceT], request: SearchRequest[ResourceT]
) -> Selected[ResourceT]:
    """Returns the page of the resources that a request asks for, sorted and filtered."""
    matching = [
        resource
        for resource in resources
        if request.filter is None or request.filter.match(resource)
    ]
    ordered = request.sort(matching)
    start = request.start_index_0 or 0
    count = _DEFAULT_RESULTS if request.count is None else min(request.count, MAX_RESULTS)
    page = Selected(ordered[start : start + count])
    page.total = len(ordered)
    return page


def meta(kind: str, base: str, name: str, created_at: int, modified_at: int) -> Meta:
    """Returns the metadata of a resource, with times in seconds since 1970."""
    return Meta(
        resource_type=kind,
        created=datetime.fromtimestamp(created_at, UTC),
        last_modified=datetime.fromtimestamp(modified_at, UTC),
        location=f"{base}/{kind}s/{quote(name, safe='')}",
    )
