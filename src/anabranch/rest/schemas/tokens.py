"""Schema of tokens."""

from __future__ import annotations

import msgspec

__all__ = ["DEFAULT_SECONDS", "LONGEST_SECONDS", "AuthenticationToken"]

DEFAULT_SECONDS = 3600
LONGEST_SECONDS = 12 * 3600
"""How long tokens for programs last, as in lakeFS."""


class AuthenticationToken(msgspec.Struct, frozen=True):
    """A token; `token_expiration` in seconds since 1970."""

    token: str
    token_expiration: int
