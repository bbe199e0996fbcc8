"""Recovery of the administrator and rotation of the installation's key, on the machine itself, with
a server's settings.

They need no server, but one may run at the same time. They create neither a database nor a key.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.access.access import Access
from anabranch.access.credentials.key_rotation import Rotated
from anabranch.access.recovery import Recovered
from anabranch.errors import Invalid, NotFound
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.library import DATABASE_FILE
from anabranch.server.config.settings import Settings
from anabranch.server.installation.keys import missing_keys, with_keys
from anabranch.server.installation.shared_settings import (
    record_current_key,
    require_shared_settings,
)
from anabranch.server.stores.keyvalue_stores import open_keyvalue

__all__ = ["recover_administrator", "rotate_key"]


def recover_administrator(settings: Settings, username: str = "") -> Recovered:
    """Returns a new credential of the administrator; see `Recovery.run`.

    Raises NotFound if there is no installation, Invalid for settings that differ from those of the
    installation's servers, and the errors of the key-value store.
    """
    with _installation(settings) as (_, _, access):
        return access.recovery.run(username)


def rotate_key(settings: Settings) -> Rotated:
    """Encrypts all secrets with `auth.encrypt.secret_key`; see `KeyRotation`. Afterwards a server
    with only the earlier key does not start. Raises the errors of `recover_administrator`, and
    Invalid without `auth.encrypt.other_secret_key`.
    """
    if not settings.auth.encrypt.other_secret_key:
        raise Invalid(
            "auth.encrypt.other_secret_key is not set: there is no earlier key",
            kind="invalid_settings",
            hint="Set it to the earlier key, and auth.encrypt.secret_key to the new one.",
        )
    with _installation(settings) as (complete, keyvalue, access):
        rotated = access.key_rotation.run()
        if not rotated.unreadable:
            record_current_key(complete, keyvalue, secrets.token_bytes)
        return rotated


@contextmanager
def _installation(settings: Settings) -> Iterator[tuple[Settings, KeyValueStore, Access]]:
    """Yields the settings with all keys, the key-value store and access control."""
    _require_installation(settings)
    settings = with_keys(settings, secrets.token_bytes)
    keyvalue = open_keyvalue(settings.database)
    try:
        # servers with another key could not decrypt the new secret
        require_shared_settings(settings, keyvalue, secrets.token_bytes)
        encrypt = settings.auth.encrypt
        yield (
            settings,
            keyvalue,
            Access(keyvalue, encrypt.secret_key, other_key=encrypt.other_secret_key),
        )
    finally:
        keyvalue.close()


def _require_installation(settings: Settings) -> None:
    if settings.database.type == "mem":
        raise Invalid(
            "there is nothing to recover: a database in memory exists only within its server",
            kind="invalid_settings",
        )
    database = settings.database.local.path / DATABASE_FILE
    if settings.database.type == "local" and not database.exists():
        raise NotFound(
            f"{database} does not exist: there is no installation here",
            kind="no_installation",
            hint="Name the data folder that the server uses, with --data or the server's settings.",
        )
    missing = [f"{name} is neither set nor in {path}" for name, path in missing_keys(settings)]
    if missing:
        raise NotFound(
            "; ".join(missing),
            kind="key_missing",
            hint="Give the settings of the server, or restore the file from a backup. Without a "
            "backup: `anabranch migrate --adopt`, then repeat this command.",
        )
