"""The first setup: one administrator with one key pair, made exactly once.

User, credential and the note that setup is done are one write, on condition that none of them is
there. However many servers set up at once, one does and the others are told that it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from anabranch.access.credentials import Credential, Credentials, KeyPair
from anabranch.access.users import User, check_username, expect_no_user, write_user
from anabranch.errors import AlreadyExists
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["Setup"]

_PARTITION = "auth"
_INSTALLATION_ID = b"installation_id"
_SETUP_TIMESTAMP = b"installation_metadata/setup_timestamp"


class Setup:
    """Whether the installation has its administrator, and making it."""

    def __init__(
        self,
        store: KeyValueStore,
        credentials: Credentials,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._clock = clock
        self._new_id = new_id

    def installation_id(self) -> str:
        """Returns the installation's identifier, the same for every server; made when asked for
        first.
        """
        made = self._new_id().encode()
        absent = Expect(_PARTITION, _INSTALLATION_ID, None)
        known = self._store.get(_PARTITION, _INSTALLATION_ID)
        if known is None and not self._store.apply(
            [Write(_PARTITION, _INSTALLATION_ID, made)], [absent]
        ):
            known = self._store.get(_PARTITION, _INSTALLATION_ID)
        return (known or made).decode()

    def is_done(self) -> bool:
        """Returns whether the installation has been set up."""
        return self._store.get(_PARTITION, _SETUP_TIMESTAMP) is not None

    def run(self, username: str, pair: KeyPair | None = None) -> Credential:
        """Makes the administrator and returns its credential, made anew unless given.

        Raises AlreadyExists if setup was done before, by whomever, and Invalid for a bad name or
        key pair; neither changes anything.
        """
        check_username(username)
        if self.is_done():
            raise _already()
        now = int(self._clock())
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        credential, add_credential = self._credentials.prepare(username, pair)
        writes = [
            write_user(User(username=username, created_at=now)),
            add_credential,
            Write(_PARTITION, _SETUP_TIMESTAMP, moment.encode()),
        ]
        if not self._store.apply(
            writes, [expect_no_user(), Expect(_PARTITION, _SETUP_TIMESTAMP, None)]
        ):
            raise _already()
        return credential

    def ensure(self, username: str, pair: KeyPair) -> bool:
        """Makes the administrator with this pair unless setup was done; returns whether it did.

        This is how installation settings work: they count once, and are ignored afterwards.
        """
        if self.is_done():
            return False
        try:
            self.run(username, pair)
        except AlreadyExists:
            return False
        return True


def _already() -> AlreadyExists:
    return AlreadyExists("lakeFS already initialized", kind="already_initialized")
