"""Users, as the API shows them."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.access.identities.users import User as ModelUser
from anabranch.rest.schemas.pagination import Pagination

__all__ = ["User", "UserList", "to_user"]


class User(msgspec.Struct, frozen=True):
    """A user on the wire; `creation_date` in seconds since 1970. `active`, which lakeFS does not
    have, is there only if it is false.
    """

    creation_date: int
    id: str
    email: str | UnsetType = UNSET
    friendly_name: str | UnsetType = UNSET
    active: bool | UnsetType = UNSET


class UserList(msgspec.Struct, frozen=True):
    """A page of users."""

    pagination: Pagination
    results: list[User]


def to_user(user: ModelUser, *, active: bool = True) -> User:
    """Returns the schema of a user."""
    return User(
        creation_date=user.created_at,
        id=user.username,
        email=user.email,
        friendly_name=user.friendly_name,
        active=UNSET if active else False,
    )
