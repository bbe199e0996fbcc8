"""The Authorization header of requests: basic authentication or a token."""

from __future__ import annotations

from base64 import b64encode

from anabranch.model.secret import Secret

__all__ = ["basic_authorization", "token_authorization"]


def basic_authorization(access_key_id: str, secret_access_key: str) -> Secret:
    """Returns the header of basic authentication for a key pair, empty without a key."""
    pair = f"{access_key_id}:{secret_access_key}".encode()
    return Secret(f"Basic {b64encode(pair).decode()}" if access_key_id else "")


def token_authorization(token: str) -> Secret:
    """Returns the header of a token."""
    return Secret(f"Bearer {token}")
