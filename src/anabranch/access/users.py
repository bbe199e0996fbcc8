"""Users. There is one, the administrator, as in lakeFS 1.84 without an external authorization
service; its record has a fixed key, whatever the user's name is.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from google.protobuf.message import DecodeError

from anabranch.errors import AlreadyExists, Conflict, Corrupt, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.records import lakefs_pb2 as records

__all__ = [
    "CREDENTIALS_PREFIX",
    "PARTITION",
    "USER_KEY",
    "User",
    "Users",
    "check_username",
    "expect_no_user",
    "write_user",
]

PARTITION = "basicAuth"
USER_KEY = b"users/superAdmin"
CREDENTIALS_PREFIX = b"uCredentials/superAdmin/credentials/"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user; `created_at` in seconds since 1970."""

    username: str
    created_at: int
    email: str = ""
    friendly_name: str = ""
    source: str = "internal"


class Users:
    """The stored users."""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store

    def all(self) -> list[User]:
        """Returns every user."""
        value = self._store.get(PARTITION, USER_KEY)
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
        """Adds a user; raises AlreadyExists if there is a user of any name."""
        check_username(user.username)
        if not self._store.apply([write_user(user)], [expect_no_user()]):
            raise AlreadyExists("Already exists", kind="user_exists")

    def delete(self, username: str) -> None:
        """Raises NotFound for a user who does not exist, and Conflict for the one who does:
        without an administrator no login would be possible. Changes nothing.
        """
        self.get(username)
        raise Conflict(
            "the only administrator cannot be deleted",
            kind="last_administrator",
            hint="`anabranch auth recover` on the server's machine replaces the key pair.",
        )


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
    return Write(PARTITION, USER_KEY, record.SerializeToString())


def expect_no_user() -> Expect:
    """Returns the condition that there is no user."""
    return Expect(PARTITION, USER_KEY, None)


@lru_cache(maxsize=128)
def _decode(value: bytes) -> User:
    try:
        record = records.UserData.FromString(value)
    except DecodeError:
        raise Corrupt("the user's record cannot be read", path=USER_KEY.decode()) from None
    return User(
        username=record.username,
        created_at=record.created_at.seconds,
        email=record.email,
        friendly_name=record.friendly_name,
        source=record.source,
    )
