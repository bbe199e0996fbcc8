"""The keys of an installation, where the settings give none: random, made once, kept in the data
folder in files that only its owner may read.

Servers that share a folder share the keys. A file appears whole or not at all, and the first to
make it wins: it is written under another name and then linked to its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anabranch.errors import Busy, Corrupt
from anabranch.model.secret import Secret
from anabranch.server.setting import build, declared, value_of
from anabranch.server.settings import Settings

__all__ = ["with_keys"]

_BYTES = 32


def with_keys(settings: Settings, random_bytes: Callable[[int], bytes]) -> Settings:
    """Returns the settings with every key that they leave out, made now if it never was.

    Where the key-value store ends with the server, so do the keys, and no file is written. Raises
    Busy if the folder cannot be written, Corrupt if a key's file is no key.
    """
    keys: dict[str, Any] = {}
    for name, setting in declared().items():
        if setting.type is Secret and setting.means.under_data and not value_of(settings, name):
            if settings.database.type == "mem":
                keys[name] = Secret(random_bytes(_BYTES).hex())
            else:
                keys[name] = _kept(settings.data / setting.means.under_data, random_bytes)
    return build(keys, settings)


def _kept(path: Path, random_bytes: Callable[[int], bytes]) -> Secret:
    try:
        if not path.exists():
            _make(path, random_bytes)
        text = path.read_text("ascii").strip()
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise Busy(
            f"{path}: the key cannot be kept: {reason}",
            kind="key_not_kept",
            hint="The data folder must be writable for the server.",
        ) from None
    except UnicodeDecodeError:
        text = ""
    if len(text) != 2 * _BYTES:
        raise Corrupt("a key of the installation is damaged", path=str(path), kind="damaged_key")
    return Secret(text)


def _make(path: Path, random_bytes: Callable[[int], bytes]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{random_bytes(8).hex()}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(random_bytes(_BYTES).hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return  # another server was first, and its key counts
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
