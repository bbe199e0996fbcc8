"""A random key of an installation, stored in a file that only its owner can read.

Processes that share a folder share the key. The file is created atomically, by the first process:
it is written under another name and then linked to its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from anabranch.errors import Busy, Corrupt
from anabranch.files.private_folders import make_private_folder
from anabranch.model.secret import Secret

__all__ = ["KEY_BYTES", "load_or_create_key"]

KEY_BYTES = 32


def load_or_create_key(path: Path, random_bytes: Callable[[int], bytes]) -> Secret:
    """Returns the key in a file; creates the file if it does not exist.

    Raises Busy if the folder cannot be written, Corrupt if the file has no valid key.
    """
    try:
        if not path.exists():
            _create_file(path, random_bytes)
        text = path.read_text("ascii").strip()
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise Busy(
            f"{path}: the key cannot be stored: {reason}",
            kind="key_not_kept",
            hint="The data folder must be writable for the server.",
        ) from None
    except UnicodeDecodeError:
        text = ""
    if len(text) != 2 * KEY_BYTES:
        raise Corrupt("a key of the installation is damaged", path=str(path), kind="damaged_key")
    return Secret(text)


def _create_file(path: Path, random_bytes: Callable[[int], bytes]) -> None:
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
            return  # another process created the file first; its key is used
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
