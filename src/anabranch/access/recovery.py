"""Recovery of an installation whose administrator lost the key pair, or was deleted.

Whoever may write the key-value store may do this, so no credentials are asked for. The new key
pair takes the place of every earlier one in a single write, on condition that user and key pairs
are still those that were read.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from anabranch.access.credentials import Credential, Credentials
from anabranch.access.setup import Setup
from anabranch.access.users import (
    CREDENTIALS_PREFIX,
    PARTITION,
    USER_KEY,
    User,
    Users,
    check_username,
    write_user,
)
from anabranch.errors import Conflict, Corrupt, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound

__all__ = ["DEFAULT_USERNAME", "Recovered", "Recovery"]

DEFAULT_USERNAME = "admin"


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """The new credential; `user_created` says that there was no administrator any more, and
    `replaced` how many key pairs it took the place of.
    """

    credential: Credential
    user_created: bool
    replaced: int


class Recovery:
    """Gives the administrator a new key pair. `clock` gives seconds since 1970."""

    def __init__(
        self,
        store: KeyValueStore,
        users: Users,
        credentials: Credentials,
        setup: Setup,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._users = users
        self._credentials = credentials
        self._setup = setup
        self._clock = clock

    def run(self, username: str = "") -> Recovered:
        """Returns a new credential of the administrator, who is created where the record is
        missing or damaged: as `username`, or as DEFAULT_USERNAME.

        Raises NotFound (kind not_set_up) where no administrator was ever made, Conflict (kind
        other_administrator) where there is one of another name, Invalid for a bad name; then
        nothing has changed.
        """
        if username:
            check_username(username)
        while True:
            recovered = self._try(username)
            if recovered is not None:
                return recovered

    def _try(self, username: str) -> Recovered | None:
        """Returns None where user or key pairs changed between reading and writing."""
        record = self._store.get(PARTITION, USER_KEY)
        user = self._user()
        if user is None and record is None and not self._setup.is_done():
            raise NotFound(
                "this installation was never set up, so there is nobody to recover",
                kind="not_set_up",
                hint="Start the server and set it up, or give the settings under `installation`.",
            )
        if user is not None and username not in {"", user.username}:
            raise Conflict(
                f"the administrator is called {user.username!r}, not {username!r}",
                kind="other_administrator",
                hint="Leave the name out.",
            )
        name = user.username if user is not None else username or DEFAULT_USERNAME
        end = upper_bound(CREDENTIALS_PREFIX)
        earlier = list(self._store.scan(PARTITION, CREDENTIALS_PREFIX, end))
        credential, add_credential = self._credentials.prepare(name)
        writes = [*(Write(PARTITION, key, None) for key, _ in earlier), add_credential]
        if user is None:
            writes.append(write_user(User(username=name, created_at=int(self._clock()))))
        expected = [
            Expect(PARTITION, USER_KEY, record),
            *(Expect(PARTITION, key, value) for key, value in earlier),
        ]
        if not self._store.apply(writes, expected):
            return None
        return Recovered(credential=credential, user_created=user is None, replaced=len(earlier))

    def _user(self) -> User | None:
        try:
            return next(iter(self._users.all()), None)
        except Corrupt:
            return None
