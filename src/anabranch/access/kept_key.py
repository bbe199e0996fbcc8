"""A key that an installation makes once and keeps: random, in a file that only its owner may read.

Processes that share a folder share the key. The file appears whole or not at all, and the first to
make it wins: it is written under another name and then linked to its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from anabranch.errors import Busy, Corrupt
from anabranch.model.secret import Secret
from anabranch.private_folders import make_private_folder

__all__ = ["KEY_BYTES", "kept_key"]

KEY_BYTES = 32


def kept_key(path: Path, random_bytes: Callable[[int], bytes]) -> Secret:
    """Returns the key in a file, made now if it never was.

    Raises Busy if the folder cannot be written, Corrupt if the file holds no key.
    """
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
    if len(text) != 2 * KEY_BYTES:
        raise Corrupt("a key of the installation is damaged", path=str(path), kind="damaged_key")
    return Secret(text)


def _make(path: Path, random_bytes: Callable[[int], bytes]) -> None:
    make_private_folder(path.parent)
    draft = path.with_name(f".{path.name}.{random_bytes(8).hex()}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(random_bytes(KEY_BYTES).hex() + "\n")
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
