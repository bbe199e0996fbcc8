"""Recovery of an installation whose administrator lost the key pair, or was deleted.

It needs write access to the key-value store and therefore no credentials. The new key pair replaces
all earlier ones in a single write, on condition that user and key pairs are unchanged since they
were read. If groups or policies no longer make that user an administrator, they are restored.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from anabranch.access.credentials.credentials import Credential, Credentials
from anabranch.access.identities.administrators import has_all_permissions
from anabranch.access.identities.defaults import ADMINS, administrator_writes, are_stored
from anabranch.access.identities.effective_policies import EffectivePolicies
from anabranch.access.identities.users import (
    User,
    check_username,
    read_setup_user,
    with_new_ids,
    write_setup_user,
)
from anabranch.access.records.changes import bump_version
from anabranch.access.records.layout import (
    OWN_PARTITION,
    PARTITION,
    SETUP_CREDENTIALS,
    SETUP_PARTITION,
    SETUP_USER_KEY,
    VERSION_KEY,
    group_policies_prefix,
    inactive_key,
    members_prefix,
    user_key,
    user_policies_prefix,
)
from anabranch.access.records.pending_store import PendingStore
from anabranch.access.setup import Setup
from anabranch.errors import Conflict, Corrupt, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound

__all__ = ["DEFAULT_USERNAME", "Recovered", "Recovery"]

DEFAULT_USERNAME = "admin"


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """The new credential. `user_created` is set if there was no administrator; `replaced` is the
    number of replaced key pairs.
    """

    credential: Credential
    user_created: bool
    replaced: int


class Recovery:
    """Gives the administrator a new key pair. `clock` returns seconds since 1970."""

    def __init__(
        self,
        store: KeyValueStore,
        credentials: Credentials,
        setup: Setup,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._setup = setup
        self._clock = clock
        self._new_id = new_id

    def run(self, username: str = "") -> Recovered:
        """Returns a new credential of the administrator. If the user's record is missing or
        damaged, creates the user as `username`, by default DEFAULT_USERNAME.

        Raises NotFound (kind not_set_up) if the installation was never set up, Conflict (kind
        other_administrator) if the administrator has another name, Invalid for a bad name. Nothing
        has changed then.
        """
        if username:
            check_username(username)
        while True:
            recovered = self._try(username)
            if recovered is not None:
                return recovered

    def _try(self, username: str) -> Recovered | None:
        """Returns None if user or key pairs changed between reading and writing."""
        bump, unchanged = bump_version(self._store.get(OWN_PARTITION, VERSION_KEY))
        record = self._store.get(SETUP_PARTITION, SETUP_USER_KEY)
        user = self._read_user()
        if user is None and record is None and not self._setup.is_done():
            raise NotFound(
                "this installation was never set up, so it has no administrator to recover",
                kind="not_set_up",
                hint="Start the server and set it up, or give the settings under `installation`.",
            )
        if user is not None and username not in {"", user.username}:
            raise Conflict(
                f"the name of the administrator is {user.username!r}, not {username!r}",
                kind="other_administrator",
                hint="Omit the name.",
            )
        name = user.username if user is not None else username or DEFAULT_USERNAME
        end = upper_bound(SETUP_CREDENTIALS)
        earlier = list(self._store.scan(SETUP_PARTITION, SETUP_CREDENTIALS, end))
        if user is None and self._store.get(PARTITION, user_key(name)) is not None:
            raise Conflict(
                f"{name!r} is the name of another user",
                kind="user_exists",
                hint="Give the name of the new administrator: `anabranch auth recover NAME`.",
            )
        credential, add_credential = self._credentials.prepare_for_setup_user(name)
        writes = [*(Write(SETUP_PARTITION, key, None) for key, _ in earlier), add_credential, bump]
        # tokens of sessions that the earlier key pairs opened, or logins, end as well
        recovered = with_new_ids(
            user or User(username=name, created_at=int(self._clock())), self._new_id
        )
        writes += [write_setup_user(recovered), Write(OWN_PARTITION, inactive_key(name), None)]
        if are_stored(self._store):
            writes += self._restore_permissions(name, writes)
        expected = [
            unchanged,
            Expect(SETUP_PARTITION, SETUP_USER_KEY, record),
            *(Expect(SETUP_PARTITION, key, value) for key, value in earlier),
        ]
        if not self._store.apply(writes, expected):
            return None
        return Recovered(credential=credential, user_created=user is None, replaced=len(earlier))

    def _restore_permissions(self, name: str, writes: list[Write]) -> list[Write]:
        """Returns the writes that make the user an administrator, none if it is one already."""
        if has_all_permissions(name, EffectivePolicies(PendingStore(self._store, writes)).of(name)):
            return []
        restored = administrator_writes(name, int(self._clock()))
        pending = PendingStore(self._store, [*writes, *restored])
        if has_all_permissions(name, EffectivePolicies(pending).of(name)):
            return restored
        # a policy denies; all that does not make an administrator is removed
        kept = {write.key for write in restored}
        places = [user_policies_prefix(name), group_policies_prefix(ADMINS)]
        groups = EffectivePolicies(pending).groups_of(name)
        keys = [
            *(
                key
                for place in places
                for key, _ in pending.scan(PARTITION, place, place + b"\xff")
            ),
            *(members_prefix(group) + name.encode() for group in groups),
        ]
        return restored + [Write(PARTITION, key, None) for key in keys if key not in kept]

    def _read_user(self) -> User | None:
        try:
            return read_setup_user(self._store)
        except Corrupt:
            return None
