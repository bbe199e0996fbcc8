"""Users. There is one, the administrator, as in lakeFS 1.84 without an outside authorization
service; its record stands under a fixed key, whatever the user is called.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from google.protobuf.message import DecodeError

from anabranch.errors import AlreadyExists, Corrupt, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.records import lakefs_pb2 as records

__all__ = [
    "CREDENTIALS_PREFIX",
    "PARTITION",
    "User",
    "Users",
    "check_username",
    "expect_no_user",
    "write_user",
]

PARTITION = "basicAuth"
_KEY = b"users/superAdmin"
CREDENTIALS_PREFIX = b"uCredentials/superAdmin/credentials/"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user; `created_at` in seconds since 1970."""

    username: str
    created_at: int
    email: str = ""
    friendly_name: str = ""
    source: str = "internal"


class Users:
    """The users in a store."""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store

    def all(self) -> list[User]:
        """Returns every user."""
        value = self._store.get(PARTITION, _KEY)
        return [] if value is None else [_decode(value)]

    def find(self, username: str) -> User | None:
        """Returns the user of that name, or None."""
        return next((user for user in self.all() if user.username == username), None)

    def get(self, username: str) -> User:
        """Returns the user of that name; raises NotFound."""
        user = self.find(username)
        if user is None:
            raise NotFound("user not found", kind="user_not_found")
        return user

    def create(self, user: User) -> None:
        """Adds a user; raises AlreadyExists if there is one, of whatever name."""
        check_username(user.username)
        if not self._store.apply([write_user(user)], [expect_no_user()]):
            raise AlreadyExists("Already exists", kind="user_exists")

    def delete(self, username: str) -> None:
        """Removes a user and the user's credentials; raises NotFound."""
        value = self._store.get(PARTITION, _KEY)
        if value is None or _decode(value).username != username:
            raise NotFound("user not found", kind="user_not_found")
        end = upper_bound(CREDENTIALS_PREFIX)
        keys = [key for key, _ in self._store.scan(PARTITION, CREDENTIALS_PREFIX, end)]
        writes = [Write(PARTITION, key, None) for key in [_KEY, *keys]]
        if not self._store.apply(writes, [Expect(PARTITION, _KEY, value)]):
            raise NotFound("user not found", kind="user_not_found")


def check_username(username: str) -> None:
    """Raises Invalid unless the text can name a user."""
    if not username:
        raise Invalid("empty user display name", kind="invalid_username")
    if "%" in username:
        raise Invalid("User name cannot contain '%'", kind="invalid_username")


def write_user(user: User) -> Write:
    """Returns the write that adds a user."""
    record = records.UserData(
        created_at={"seconds": user.created_at},
        username=user.username,
        friendly_name=user.friendly_name,
        email=user.email,
        source=user.source,
    )
    return Write(PARTITION, _KEY, record.SerializeToString())


def expect_no_user() -> Expect:
    """Returns the condition that there is no user."""
    return Expect(PARTITION, _KEY, None)


@lru_cache(maxsize=128)
def _decode(value: bytes) -> User:
    try:
        record = records.UserData.FromString(value)
    except DecodeError:
        raise Corrupt("the user's record cannot be read", path=_KEY.decode()) from None
    return User(
        username=record.username,
        created_at=record.created_at.seconds,
        email=record.email,
        friendly_name=record.friendly_name,
        source=record.source,
    )
