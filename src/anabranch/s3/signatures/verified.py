"""The result of verifying a signature."""

from __future__ import annotations

import msgspec

from anabranch.signing.chunk_signatures import ChunkSeed

__all__ = ["Verified"]


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """A verified signature: its access key and what it covers of the body.

    `payload` is the signed value of x-amz-content-sha256, which is a digest or a keyword; `seed` is
    the seed for the signatures of the body's chunks. Version 2 does not cover the body: both are
    None.
    """

    access_key_id: str
    payload: str | None = None
    seed: ChunkSeed | None = None
