"""The keys of an installation, where the settings give none: made once, kept in the data folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from anabranch.access.key_file import KEY_BYTES, load_or_create_key
from anabranch.model.secret import Secret
from anabranch.server.config.field import build, declared, value_of
from anabranch.server.config.settings import Settings

__all__ = ["key_files", "missing_keys", "with_keys"]


def with_keys(settings: Settings, random_bytes: Callable[[int], bytes]) -> Settings:
    """Returns the settings with every key that they leave out, made now if it never was.

    Where the key-value store ends with the server, so do the keys, and no file is written. Raises
    Busy if the folder cannot be written, Corrupt if a key's file is no key.
    """
    keys: dict[str, Any] = {}
    for name, path in key_files(settings):
        if settings.database.type == "mem":
            keys[name] = Secret(random_bytes(KEY_BYTES).hex())
        else:
            keys[name] = load_or_create_key(path, random_bytes)
    return build(keys, settings)


def key_files(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yields the name and the file of every key that the settings leave out."""
    for name, setting in declared().items():
        if setting.type is Secret and setting.doc.under_data and not value_of(settings, name):
            yield name, settings.data / setting.doc.under_data


def missing_keys(settings: Settings) -> list[tuple[str, Path]]:
    """Returns the keys that a server with these settings would make at its start."""
    return [(name, path) for name, path in key_files(settings) if not path.exists()]
