"""The folder of an upload in parts, beside the block that it becomes, for what a store cannot keep
otherwise: `FOLDER/.anabranch-uploads/UPLOAD/NAME`. Listings of blocks leave it out.
"""

from __future__ import annotations

import re

from anabranch.blocks.object_addresses import Location

__all__ = ["in_upload", "is_in_upload"]

_FOLDER = ".anabranch-uploads"
_HIDDEN = re.compile(rf"(?:^|/){re.escape(_FOLDER)}/")


def in_upload(location: Location, upload: str, name: str) -> Location:
    """Returns where something of an upload to a location lies; for no name, its folder."""
    folder, slash, _ = location.key.rpartition("/")
    return location._replace(key=f"{folder}{slash}{_FOLDER}/{upload}/{name}")


def is_in_upload(key: str) -> bool:
    """Returns whether a key is of an upload, and no block's."""
    return _HIDDEN.search(key) is not None
