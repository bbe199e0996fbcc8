"""Access control, composed: all of its parts over one key-value store.

access = Access(keyvalue, key=settings.auth.encrypt.secret_key)
access.setup.run("admin")
authorize(access.authenticator.authenticate(header), [Permission(...)])
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable

from anabranch.access.actors.actors import Actors
from anabranch.access.credentials.credentials import Credentials
from anabranch.access.credentials.derived_keys import DerivedKeys
from anabranch.access.credentials.key_rotation import KeyRotation
from anabranch.access.credentials.secret_encryption import SecretCipher
from anabranch.access.credentials.table_keys import TableKeys
from anabranch.access.credentials.workspace_keys import WorkspaceKeys
from anabranch.access.identities.administrators import AdministratorGuard, Logins
from anabranch.access.identities.attachments import group_attachments, user_attachments
from anabranch.access.identities.effective_policies import EffectivePolicies
from anabranch.access.identities.external_principals import ExternalPrincipals
from anabranch.access.identities.group_acls import GroupACLs
from anabranch.access.identities.groups import Groups
from anabranch.access.identities.memberships import memberships
from anabranch.access.identities.users import Users
from anabranch.access.policies.policies import Policies
from anabranch.access.records.changes import AccessChanges
from anabranch.access.recovery import Recovery
from anabranch.access.sessions.authenticate import AuthCacheSettings, Authenticator
from anabranch.access.sessions.command_line_logins import CommandLineLogins
from anabranch.access.sessions.login_throttle import LoginThrottle
from anabranch.access.sessions.revoked_tokens import RevokedTokens
from anabranch.access.sessions.sessions import Sessions
from anabranch.access.sessions.sign_in_links import SignInLinks
from anabranch.access.sessions.tokens import WEEK, Tokens
from anabranch.access.sessions.workspace_grants import WorkspaceGrants
from anabranch.access.setup import Setup
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.secret import Secret
from anabranch.versioning.references.workspaces import Workspaces

__all__ = ["Access"]

_DEFAULT_CACHE = AuthCacheSettings()
_ACCESS_KEYS_ONLY = Logins()


class Access:
    """All parts of access control.

    `key` encrypts secrets and signs tokens; all servers of an installation must have the same. What
    was encrypted or signed with the `other_key` is accepted while keys are rotated.
    `clock` returns seconds since 1970, `ticks` is a monotonic clock in seconds. After
    `failed_logins` within a minute, a key is locked for an address for `lock_seconds` or longer.
    `logins` are the ways in besides access keys.
    """

    def __init__(
        self,
        keyvalue: KeyValueStore,
        key: Secret,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
        login_duration: float = WEEK,
        cache_settings: AuthCacheSettings = _DEFAULT_CACHE,
        other_key: Secret = Secret(""),  # noqa: B008  immutable
        failed_logins: int = 10,
        lock_seconds: float = 30.0,
        logins: Logins = _ACCESS_KEYS_ONLY,
    ) -> None:
        def new_id() -> str:
            return str(uuid.UUID(bytes=random_bytes(16), version=4))

        cipher = SecretCipher(key, random_bytes, other_key)
        self.changes = AccessChanges(keyvalue, AdministratorGuard(logins), self.changed)
        self.users = Users(keyvalue, self.changes, new_id)
        self.external_principals = ExternalPrincipals(keyvalue, self.changes, self.users, new_id)
        self.policies = Policies(keyvalue, self.changes)
        self.groups = Groups(keyvalue, self.changes)
        self.memberships = memberships(keyvalue, self.changes, self.groups, self.users)
        self.group_attachments = group_attachments(
            keyvalue, self.changes, self.groups, self.policies
        )
        self.group_acls = GroupACLs(keyvalue, self.changes, self.groups, self.policies)
        self.user_attachments = user_attachments(keyvalue, self.changes, self.users, self.policies)
        self.effective_policies = EffectivePolicies(keyvalue)
        self.credentials = Credentials(
            keyvalue,
            self.changes,
            self.users,
            cipher,
            clock,
            random_bytes,
            new_id,
        )
        self.key_rotation = KeyRotation(keyvalue, cipher)
        self.tokens = Tokens(key, clock, new_id, login_duration, other_key)
        self.command_line_logins = CommandLineLogins(
            keyvalue,
            DerivedKeys(key, other_key, "command line"),
            self.users,
            self.tokens,
            clock,
            random_bytes,
        )
        self.setup = Setup(keyvalue, self.changes, self.credentials, clock, new_id)
        self.recovery = Recovery(keyvalue, self.credentials, self.setup, clock, new_id)
        self.actors = Actors(keyvalue, self.users, self.effective_policies)
        sessions = Sessions(
            self.credentials,
            self.external_principals,
            RevokedTokens(keyvalue, self.changes, clock),
        )
        self.sign_in_links = SignInLinks(
            keyvalue, self.actors, sessions, self.tokens, clock, random_bytes
        )
        self.workspace_keys = WorkspaceKeys(DerivedKeys(key, other_key, "workspaces"), random_bytes)
        self.table_keys = TableKeys(DerivedKeys(key, other_key, "tables"), clock)
        self.workspace_grants = WorkspaceGrants(Workspaces(keyvalue), self.workspace_keys, clock)
        self.authenticator = Authenticator(
            self.changes,
            self.actors,
            self.credentials,
            self.tokens,
            sessions,
            clock=clock,
            ticks=ticks,
            random_bytes=random_bytes,
            cache_settings=cache_settings,
            throttle=LoginThrottle(failed_logins, lock_seconds, ticks),
            workspaces=self.workspace_grants,
        )

    def changed(self) -> None:
        """Clears the caches of this server; called after each change of records."""
        self.authenticator.forget()
