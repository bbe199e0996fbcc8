"""First setup of an installation: creates one administrator with one key pair, exactly once.

User, credential and the time of setup are one write, on condition that none of them exists. If
several servers set up at once, one succeeds and the others raise AlreadyExists.
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
    """Setup of the administrator."""

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
        """Returns the installation's identifier, which all servers share; the first call creates
        it.
        """
        new_id = self._new_id().encode()
        absent = Expect(_PARTITION, _INSTALLATION_ID, None)
        stored = self._store.get(_PARTITION, _INSTALLATION_ID)
        if stored is None and not self._store.apply(
            [Write(_PARTITION, _INSTALLATION_ID, new_id)], [absent]
        ):
            stored = self._store.get(_PARTITION, _INSTALLATION_ID)
        return (stored or new_id).decode()

    def is_done(self) -> bool:
        """Returns whether the installation has been set up."""
        return self._store.get(_PARTITION, _SETUP_TIMESTAMP) is not None

    def run(self, username: str, pair: KeyPair | None = None) -> Credential:
        """Creates the administrator and returns its credential, generated unless given.

        Raises AlreadyExists if setup was done before, and Invalid for a bad name or key pair.
        Nothing has changed then.
        """
        check_username(username)
        if self.is_done():
            raise _already_initialized()
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
            raise _already_initialized()
        return credential

    def ensure(self, username: str, pair: KeyPair) -> bool:
        """Creates the administrator with this pair unless setup was done; returns whether it did.

        The settings under `installation` take effect in this way: only once.
        """
        if self.is_done():
            return False
        try:
            self.run(username, pair)
        except AlreadyExists:
            return False
        return True


def _already_initialized() -> AlreadyExists:
    return AlreadyExists("lakeFS already initialized", kind="already_initialized")
