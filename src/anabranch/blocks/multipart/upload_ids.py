"""Upload ids for stores without their own: 128 random bits and a digest of the address."""

from __future__ import annotations

import hashlib
import re
import secrets

from anabranch.blocks.cloud.addresses import Location

__all__ = ["is_upload_id", "new_upload_id"]

_ID = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}")


def new_upload_id(location: Location) -> str:
    """Returns a new id that is valid for one location."""
    return f"{secrets.token_hex(16)}-{_fingerprint(location)}"


def is_upload_id(location: Location, upload_id: str) -> bool:
    """Returns whether an id has the form of those of uploads to a location."""
    return bool(_ID.fullmatch(upload_id)) and upload_id.endswith(_fingerprint(location))


def _fingerprint(location: Location) -> str:
    return hashlib.sha256(location.address.encode()).hexdigest()[:16]
