"""Keys of an installation that are not in the settings: created once, stored in the data folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from anabranch.access.credentials.key_file import KEY_BYTES, load_or_create_key
from anabranch.model.secret import Secret
from anabranch.server.config.field import build, declared, value_of
from anabranch.server.config.settings import Settings

__all__ = ["key_files", "missing_keys", "with_keys"]


def with_keys(settings: Settings, random_bytes: Callable[[int], bytes]) -> Settings:
    """Returns the settings with all keys: those that are not set are read from their files, which
    are created if they do not exist.

    With a key-value store in memory, new keys are generated and no file is written. Raises Busy if
    the folder cannot be written, Corrupt if a file is not a valid key.
    """
    keys: dict[str, Any] = {}
    for name, path in key_files(settings):
        if settings.database.type == "mem":
            keys[name] = Secret(random_bytes(KEY_BYTES).hex())
        else:
            keys[name] = load_or_create_key(path, random_bytes)
    return build(keys, settings)


def key_files(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yields the name and the file of every key that is not set."""
    for name, setting in declared().items():
        if setting.type is Secret and setting.doc.under_data and not value_of(settings, name):
            yield name, settings.data / setting.doc.under_data


def missing_keys(settings: Settings) -> list[tuple[str, Path]]:
    """Returns the names and files of the keys that a server would create at its start."""
    return [(name, path) for name, path in key_files(settings) if not path.exists()]
