"""What a signature that was found true says."""

from __future__ import annotations

import msgspec

from anabranch.signing.chunk_signatures import ChunkSeed

__all__ = ["Verified"]


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Whose signature it is, and what it says of the body.

    `payload` is the body's digest, or the word that stands in its place; `seed` is what signatures
    of the body's chunks go on from. Version 2 says nothing of the body: both are None.
    """

    access_key_id: str
    payload: str | None = None
    seed: ChunkSeed | None = None
