"""The stored form of ends by pattern of a repository: a list of rules, as JSON."""

from __future__ import annotations

import hashlib

import msgspec

from anabranch.errors import Corrupt
from anabranch.model.references.branch_ends import NO_ENDS, BranchEnd, BranchEnds

__all__ = ["ends_from"]

_DECODER = msgspec.json.Decoder(tuple[BranchEnd, ...])


def ends_from(raw: bytes | None) -> BranchEnds:
    """Returns the rules of a record; none without a record. Raises Corrupt."""
    if raw is None:
        return NO_ENDS
    try:
        return BranchEnds(_DECODER.decode(raw), hashlib.sha256(raw).hexdigest())
    except msgspec.MsgspecError as error:
        raise Corrupt(
            f"the record of ends of branches in the key-value store cannot be read: {error}"
        ) from error
