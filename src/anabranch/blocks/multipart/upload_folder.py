"""Folder for the state of a multipart upload that a store cannot hold itself, next to the block:
`FOLDER/.anabranch-uploads/UPLOAD/NAME`. Listings of blocks leave it out.
"""

from __future__ import annotations

import re

from anabranch.blocks.cloud.addresses import Location

__all__ = ["is_upload_key", "upload_location"]

_FOLDER = ".anabranch-uploads"
_HIDDEN = re.compile(rf"(?:^|/){re.escape(_FOLDER)}/")


def upload_location(location: Location, upload: str, name: str) -> Location:
    """Returns the location of a file in the folder of an upload, or of the folder without a
    name.
    """
    folder, slash, _ = location.key.rpartition("/")
    return location._replace(key=f"{folder}{slash}{_FOLDER}/{upload}/{name}")


def is_upload_key(key: str) -> bool:
    """Returns whether a key is in the folder of an upload, and not a block's."""
    return _HIDDEN.search(key) is not None
