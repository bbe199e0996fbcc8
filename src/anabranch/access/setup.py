"""First setup of an installation: creates one administrator with one key pair, exactly once.

User, credential, default groups and the time of setup are one write, on condition that none of them
exists. If several servers set up at once, one succeeds and the others raise AlreadyExists.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from anabranch.access.credentials.credentials import Credential, Credentials, KeyPair
from anabranch.access.identities.defaults import are_stored, default_writes
from anabranch.access.identities.users import (
    User,
    check_username,
    expect_no_setup_user,
    read_setup_user,
    with_new_ids,
    write_setup_user,
)
from anabranch.access.records.changes import AccessChanges, bump_version
from anabranch.access.records.layout import OWN_PARTITION, PARTITION, VERSION_KEY
from anabranch.errors import AlreadyExists
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["Setup"]

_INSTALLATION_ID = b"installation_id"
_SETUP_TIMESTAMP = b"installation_metadata/setup_timestamp"


class Setup:
    """Setup of the administrator."""

    def __init__(
        self,
        store: KeyValueStore,
        changes: AccessChanges,
        credentials: Credentials,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._changes = changes
        self._credentials = credentials
        self._clock = clock
        self._new_id = new_id

    def installation_id(self) -> str:
        """Returns the installation's identifier, which all servers share; the first call creates
        it.
        """
        new_id = self._new_id().encode()
        absent = Expect(PARTITION, _INSTALLATION_ID, None)
        stored = self._store.get(PARTITION, _INSTALLATION_ID)
        if stored is None and not self._store.apply(
            [Write(PARTITION, _INSTALLATION_ID, new_id)], [absent]
        ):
            stored = self._store.get(PARTITION, _INSTALLATION_ID)
        return (stored or new_id).decode()

    def is_done(self) -> bool:
        """Returns whether the installation has been set up."""
        return self._store.get(PARTITION, _SETUP_TIMESTAMP) is not None

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
        credential, add_credential = self._credentials.prepare_for_setup_user(username, pair)
        user = with_new_ids(User(username=username, created_at=now), self._new_id)
        while True:
            bump, unchanged = bump_version(self._store.get(OWN_PARTITION, VERSION_KEY))
            writes = [
                write_setup_user(user),
                add_credential,
                Write(PARTITION, _SETUP_TIMESTAMP, moment.encode()),
                *default_writes(self._store, username, now),
                bump,
            ]
            absent = [expect_no_setup_user(), Expect(PARTITION, _SETUP_TIMESTAMP, None)]
            if self._store.apply(writes, [*absent, unchanged]):
                return credential
            if self.is_done() or read_setup_user(self._store) is not None:
                raise _already_initialized()

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

    def ensure_defaults(self) -> None:
        """Stores the default groups and policies of an installation that was set up without them,
        by lakeFS or by an earlier version, and makes the user whom setup created a member of
        `Admins`. Does nothing if they were stored before, or if setup was not done.
        """
        for attempt in self._changes.attempts():
            with attempt:
                user = read_setup_user(self._store)
                if user is None or are_stored(self._store):
                    continue
                attempt.write(default_writes(self._store, user.username, int(self._clock())))


def _already_initialized() -> AlreadyExists:
    return AlreadyExists("lakeFS already initialized", kind="already_initialized")
