"""Schema of tokens."""

from __future__ import annotations

import msgspec

__all__ = ["AuthenticationToken"]


class AuthenticationToken(msgspec.Struct, frozen=True):
    """A token; `token_expiration` in seconds since 1970."""

    token: str
    token_expiration: int
