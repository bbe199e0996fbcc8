"""Users. Their records are lakeFS's (`UserData`).

The user whom setup created has a record with a fixed key, whatever the name, as in lakeFS 1.84
without an external authorization service; all other users have records of their own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec
from google.protobuf.message import DecodeError

from anabranch.access.identities.similar_names import (
    HIDDEN,
    SimilarNames,
    SimilarUsers,
    are_similar,
)
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import (
    GROUPS,
    OWN_PARTITION,
    PARTITION,
    SETUP_CREDENTIALS,
    SETUP_PARTITION,
    SETUP_USER_KEY,
    USERS,
    check_name,
    credentials_prefix,
    external_id_key,
    inactive_key,
    key_owner_key,
    members_prefix,
    user_key,
    user_policies_prefix,
)
from anabranch.access.records.record_pages import list_names, scan_names
from anabranch.errors import AlreadyExists, Corrupt, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import Page, upper_bound
from anabranch.records import lakefs_pb2 as records

__all__ = [
    "User",
    "Users",
    "check_username",
    "decode_user",
    "expect_no_setup_user",
    "read_setup_user",
    "with_new_ids",
    "write_setup_user",
]

_NO_USER = "user not found"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user; `created_at` in seconds since 1970. `source` says where the user was created, and
    `external_id` is the user's identity there; empty for users who were created here.

    `record_id` is random and tells the user from a later one of the same name; tokens name the
    `session_epoch`. Both are set by `Users`, and empty in records of earlier versions.
    """

    username: str
    created_at: int
    email: str = ""
    friendly_name: str = ""
    source: str = "internal"
    external_id: str = ""
    record_id: str = ""
    session_epoch: str = ""


class Users:
    """The stored users. `new_id` returns a random text."""

    def __init__(
        self, store: KeyValueStore, changes: AccessChanges, new_id: Callable[[], str]
    ) -> None:
        self._store = store
        self._changes = changes
        self._similar = SimilarNames(store)
        self._new_id = new_id
        self._on_delete: list[Callable[[str], Iterable[Write]]] = []

    def find(self, username: str) -> User | None:
        """Returns the user of that name, or None."""
        return self.find_many([username])[0]

    def find_many(self, usernames: list[str]) -> list[User | None]:
        """Returns the users of these names, in their order, None for those that are missing."""
        values = self._store.get_many(PARTITION, [user_key(username) for username in usernames])
        setup_user = read_setup_user(self._store)
        return [
            setup_user
            if setup_user is not None and setup_user.username == username
            else _decode_named(username, value)
            for username, value in zip(usernames, values, strict=True)
        ]

    def get(self, username: str) -> User:
        """Returns the user of that name; raises NotFound."""
        user = self.find(username)
        if user is None:
            raise NotFound(_NO_USER, kind="user_not_found")
        return user

    def find_similar(self, username: str) -> str | None:
        """Returns a name in use that people take for this one, None if there is none: this name
        itself, or one that differs only in case, blanks or invisible characters.
        """
        return self._find_similar(username, self._similar.find(username))

    def _find_similar(self, username: str, similar: SimilarUsers) -> str | None:
        if self.find(username) is not None:
            return username
        setup_user = read_setup_user(self._store)
        if setup_user is not None and are_similar(setup_user.username, username):
            return setup_user.username
        return next((name for name in similar.names if self.find(name) is not None), None)

    def find_by_external_id(self, external_id: str) -> User | None:
        """Returns the user with an identity of another system, or None."""
        name = self._store.get(OWN_PARTITION, external_id_key(external_id))
        user = None if name is None else self.find(name.decode())
        return None if user is None or user.external_id != external_id else user

    def named_by_committer(self, committer: str, time: int) -> set[str]:
        """Returns the names of the users whom the committer of a commit names, by the name or the
        e-mail address, and who were there at its time in seconds since 1970.
        """
        named: set[str] = set()
        after, has_more = "", True
        while has_more:
            page = self.page("", after, 1000)
            named |= {
                user.username
                for user in page.items
                if committer in (user.username, user.email) and user.created_at <= time
            }
            after, has_more = page.next_offset, page.has_more
        return named

    def is_setup_user(self, username: str) -> bool:
        """Returns whether setup created the user of that name."""
        user = read_setup_user(self._store)
        return user is not None and user.username == username

    def page(self, prefix: str, after: str, amount: int) -> Page[User]:
        """Returns at most `amount` users in the order of their names' bytes."""
        rows = list_names(self._store, USERS, prefix, after, amount)
        users = {name: decode_user(value) for name, value in rows.items}
        setup_user = read_setup_user(self._store)
        if setup_user is not None:
            name = setup_user.username
            if name.startswith(prefix) and name.encode() > after.encode():
                users[name] = setup_user
        ordered = [users[name] for name in sorted(users, key=str.encode)]
        items = ordered[:amount]
        has_more = rows.has_more or len(ordered) > amount
        return Page(
            items,
            has_more=has_more,
            next_offset=items[-1].username if has_more and items else "",
        )

    def create(self, user: User) -> None:
        """Adds a user. Raises Invalid for a bad name, and AlreadyExists for one in use, or if
        another user has the same identity elsewhere.
        """
        for attempt in self._changes.attempts():
            with attempt:
                attempt.write(self.creation(user))

    def creation(self, user: User, *, active: bool = True) -> list[Write]:
        """Returns the writes that add a user, for a change of which they are a part; raises as
        `create` does. A user who is not `active` cannot authenticate.
        """
        check_username(user.username)
        similar = self._similar.find(user.username)
        other = self._find_similar(user.username, similar)
        if other == user.username:
            raise AlreadyExists("Already exists", kind="user_exists")
        if other is not None:
            raise AlreadyExists(
                f"there is a user {other!r}, whose name looks the same", kind="user_exists"
            )
        user = user if user.record_id else self.with_new_ids(user)
        return [
            Write(PARTITION, user_key(user.username), _encode(user)),
            *self._index_external_id(user),
            *similar.entries,
            _activation(user.username, active=active),
        ]

    def with_new_ids(self, user: User) -> User:
        """Returns a new user with the random texts of the record, which `creation` adds unless
        they are there.
        """
        return with_new_ids(user, self._new_id)

    def replace(self, user: User) -> None:
        """Replaces the record of a user of that name. Raises NotFound, and AlreadyExists if another
        user has the same identity elsewhere.
        """
        for attempt in self._changes.attempts():
            with attempt:
                attempt.write(self.replacement(user))

    def replacement(self, user: User, *, active: bool | None = None) -> list[Write]:
        """Returns the writes that replace the record of a user, for a change of which they are a
        part; raises as `replace` does. They leave the user's sessions as they are, unless `active`
        is given and ends them: see `set_active`.
        """
        former = self.get(user.username)
        epoch = former.session_epoch if active is not False else self._new_id()
        user = msgspec.structs.replace(user, record_id=former.record_id, session_epoch=epoch)
        writes = self._index_external_id(user)
        if active is not None:
            writes.append(_activation(user.username, active=active))
        if former.external_id and former.external_id != user.external_id:
            writes.append(Write(OWN_PARTITION, external_id_key(former.external_id), None))
        return [self._record(user), *writes]

    def is_active(self, username: str) -> bool:
        """Returns whether a user may authenticate."""
        return self.inactive_among([username]) == set()

    def inactive_among(self, usernames: list[str]) -> set[str]:
        """Returns those of these users who may not authenticate."""
        keys = [inactive_key(username) for username in usernames]
        values = self._store.get_many(OWN_PARTITION, keys)
        return {name for name, value in zip(usernames, values, strict=True) if value is not None}

    def set_active(self, username: str, *, active: bool) -> None:
        """Lets a user authenticate, or not: who is not active keeps keys, memberships and
        attachments, but no sessions, which do not return with the user. Raises NotFound, and
        Conflict for the last administrator.
        """
        for attempt in self._changes.attempts():
            with attempt:
                attempt.write(self.replacement(self.get(username), active=active))

    def end_sessions(self, username: str) -> None:
        """Makes all tokens of a user invalid, and the codes of logins that were not finished.
        Access keys still authenticate, and open new sessions. Raises NotFound.
        """
        for attempt in self._changes.attempts():
            with attempt:
                user = msgspec.structs.replace(self.get(username), session_epoch=self._new_id())
                attempt.write([self._record(user)])

    def _record(self, user: User) -> Write:
        if self.is_setup_user(user.username):
            return write_setup_user(user)
        return Write(PARTITION, user_key(user.username), _encode(user))

    def delete(self, username: str) -> None:
        """Removes a user with the user's key pairs, memberships and attachments, so that a later
        user of the same name has none of them. Raises NotFound, and Conflict for the last
        administrator.
        """
        for attempt in self._changes.attempts():
            with attempt:
                user = self.get(username)
                removed = [(PARTITION, user_key(username))]
                places = [(PARTITION, credentials_prefix(username))]
                if self.is_setup_user(username):
                    removed.append((SETUP_PARTITION, SETUP_USER_KEY))
                    places.append((SETUP_PARTITION, SETUP_CREDENTIALS))
                for partition, prefix in places:
                    for key, _ in self._store.scan(partition, prefix, upper_bound(prefix)):
                        access_key_id = key[len(prefix) :].decode()
                        removed += [(partition, key), (OWN_PARTITION, key_owner_key(access_key_id))]
                removed += [(PARTITION, key) for key in self._relations(username)]
                removed.append((OWN_PARTITION, inactive_key(username)))
                if user.external_id:
                    removed.append((OWN_PARTITION, external_id_key(user.external_id)))
                writes = [Write(partition, key, None) for partition, key in removed]
                writes += self._similar.removals(username)
                for writes_for in self._on_delete:
                    writes += writes_for(username)
                attempt.write(writes)

    def on_delete(self, writes_for: Callable[[str], Iterable[Write]]) -> None:
        """Adds a function that returns the writes which remove other records of a user; they are
        made with the user's removal.
        """
        self._on_delete.append(writes_for)

    def _relations(self, username: str) -> list[bytes]:
        """Returns the keys of a user's memberships and attachments."""
        groups = scan_names(self._store, GROUPS)
        members = [members_prefix(group) + username.encode() for group in groups]
        values = self._store.get_many(PARTITION, members)
        memberships = [key for key, value in zip(members, values, strict=True) if value is not None]
        policies = user_policies_prefix(username)
        return memberships + [
            policies + name.encode() for name in scan_names(self._store, policies)
        ]

    def _index_external_id(self, user: User) -> list[Write]:
        if not user.external_id:
            return []
        other = self.find_by_external_id(user.external_id)
        if other is not None and other.username != user.username:
            raise AlreadyExists(
                f"the identity {user.external_id!r} belongs to the user {other.username!r}",
                kind="external_id_exists",
            )
        key = external_id_key(user.external_id)
        return [Write(OWN_PARTITION, key, user.username.encode())]


def with_new_ids(user: User, new_id: Callable[[], str]) -> User:
    """Returns a new user with the random texts of its record."""
    return msgspec.structs.replace(user, record_id=new_id(), session_epoch=new_id())


def check_username(username: str) -> None:
    """Raises Invalid unless the text can name a user."""
    if not username:
        raise Invalid("empty user display name", kind="invalid_username")
    if "%" in username:
        raise Invalid("User name cannot contain '%'", kind="invalid_username")
    check_name(username, "user")
    if username != username.strip():
        raise Invalid("user name cannot begin or end with a blank", kind="invalid_username")
    hidden = next((each for each in username if unicodedata.category(each) in HIDDEN), None)
    if hidden is not None:
        raise Invalid(
            f"user name cannot contain the invisible character U+{ord(hidden):04X}",
            kind="invalid_username",
        )


def read_setup_user(store: KeyValueStore) -> User | None:
    """Returns the user whom setup created, None if there is none."""
    value = store.get(SETUP_PARTITION, SETUP_USER_KEY)
    return None if value is None else decode_user(value)


def write_setup_user(user: User) -> Write:
    """Returns the write of the user whom setup creates."""
    return Write(SETUP_PARTITION, SETUP_USER_KEY, _encode(user))


def expect_no_setup_user() -> Expect:
    """Returns the condition that setup has created no user."""
    return Expect(SETUP_PARTITION, SETUP_USER_KEY, None)


def _activation(username: str, *, active: bool) -> Write:
    return Write(OWN_PARTITION, inactive_key(username), None if active else b"1")


def _encode(user: User) -> bytes:
    return records.UserData(
        created_at={"seconds": user.created_at},
        username=user.username,
        friendly_name=user.friendly_name,
        email=user.email,
        source=user.source,
        external_id=user.external_id,
        record_id=user.record_id,
        session_epoch=user.session_epoch,
    ).SerializeToString()


def _decode_named(username: str, value: bytes | None) -> User | None:
    if value is None:
        return None
    user = decode_user(value)
    # a record under another name is damaged; it must not act for the user whom it names
    return user if user.username == username else msgspec.structs.replace(user, username=username)


@lru_cache(maxsize=4096)
def decode_user(value: bytes) -> User:
    """Returns the user of a record; raises Corrupt if it cannot be read."""
    try:
        record = records.UserData.FromString(value)
    except DecodeError:
        raise Corrupt("the record of a user cannot be read", path="users/") from None
    return User(
        username=record.username,
        created_at=record.created_at.seconds,
        email=record.email,
        friendly_name=record.friendly_name,
        source=record.source,
        external_id=record.external_id,
        record_id=record.record_id,
        session_epoch=record.session_epoch,
    )
