"""Files of an installation that are lost: noticed at the start, before others take their place."""

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
    """Raises Corrupt if a key is missing with which a server on this machine has worked: another
    one would lock everyone out. Servers on other machines have keys of their own.
    """
    missing = missing_keys(settings)
    if not missing or not is_on_this_machine(settings.database):
        return
    known = recorded_names(keyvalue)
    for name, path in missing:
        if name in known:
            raise Corrupt(
                f"{path} is missing: the key {name} of this installation is lost",
                path=str(path),
                kind="key_missing",
                hint="Restore the file from a backup. Where it is lost for good: `anabranch "
                "migrate --adopt` makes a new key, `anabranch auth recover` a new key pair.",
            )
