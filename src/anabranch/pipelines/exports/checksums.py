"""Which checksums of objects say what their bytes are."""

from __future__ import annotations

import re

__all__ = ["md5_of"]

_MD5 = re.compile(r'"?([0-9a-f]{32})"?')


def md5_of(checksum: str) -> str | None:
    """Returns the hex MD5 of an object's bytes where its checksum is that; of an upload in parts,
    or of another store's object, it may be something else, and then it is None.
    """
    found = _MD5.fullmatch(checksum)
    return found[1] if found else None
