"""Checks at the start that no file of the installation is lost, before new ones are created."""

from __future__ import annotations

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.sqlite.lost_database import require_database
from anabranch.library import DATABASE_FILE, KEY_FILES
from anabranch.server.config.settings import Settings
from anabranch.server.installation.keys import missing_keys
from anabranch.server.installation.shared_settings import recorded_names
from anabranch.server.stores.keyvalue_stores import is_on_this_machine

__all__ = ["require_files", "require_keys"]


def require_files(settings: Settings) -> None:
    """Raises Corrupt if the SQLite database is missing although keys of an installation are in
    the data folder.
    """
    if settings.database.type == "local":
        database = settings.database.local.path / DATABASE_FILE
        require_database(database, [settings.data / "keys" / name for name in KEY_FILES])


def require_keys(settings: Settings, keyvalue: KeyValueStore) -> None:
    """Raises Corrupt if a key is missing that a server on this machine has used: with a new key, no
    user could authenticate. Does nothing if servers on other machines, with their own key files,
    may share the database.
    """
    missing = missing_keys(settings)
    if not missing or not is_on_this_machine(settings.database):
        return
    recorded = recorded_names(keyvalue)
    for name, path in missing:
        if name in recorded:
            raise Corrupt(
                f"{path} is missing: the key {name} of this installation is lost",
                path=str(path),
                kind="key_missing",
                hint="Restore the file from a backup. Without a backup: `anabranch migrate "
                "--adopt` creates a new key, then `anabranch auth recover` a new key pair.",
            )
