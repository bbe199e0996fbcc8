"""The keys of workspaces: an access key, its secret and a token, which are derived and not stored.

The record of a workspace has the access key, and a check that finds the key of the installation by
which the secret and the token were derived: also while that key is replaced. A copy of the store
reveals neither.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable

import msgspec

from anabranch.access.credentials.derived_keys import DerivedKeys
from anabranch.model.secret import Secret

__all__ = ["TOKEN_PREFIX", "IssuedKeys", "WorkspaceKeys", "is_workspace_key"]

TOKEN_PREFIX = "workspace-"  # noqa: S105  the beginning of all tokens
_KEY_PREFIX = "AKIAW"
_RANDOM_BYTES = 15
_CHECK, _SECRET, _TOKEN = "check", "secret", "token"


class IssuedKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The new keys of a workspace; `check` is stored with the access key."""

    access_key_id: str
    secret: Secret
    token: Secret
    check: str


def is_workspace_key(access_key_id: str) -> bool:
    """Returns whether an access key may be one of a workspace."""
    return access_key_id.startswith(_KEY_PREFIX)


class WorkspaceKeys:
    """Issues keys of workspaces, and derives them again."""

    def __init__(self, keys: DerivedKeys, random_bytes: Callable[[int], bytes]) -> None:
        self._keys = keys
        self._random_bytes = random_bytes

    def issue(self) -> IssuedKeys:
        """Returns new keys."""
        random = base64.b32encode(self._random_bytes(_RANDOM_BYTES)).decode()
        access_key_id = _KEY_PREFIX + random
        derive = self._keys.current.derive
        return IssuedKeys(
            access_key_id=access_key_id,
            secret=Secret(derive(_SECRET, access_key_id)),
            token=Secret(f"{TOKEN_PREFIX}{access_key_id}-{derive(_TOKEN, access_key_id)}"),
            check=derive(_CHECK, access_key_id),
        )

    def secret(self, access_key_id: str, check: str) -> Secret | None:
        """Returns the secret of an access key; None if no key of the installation has made it."""
        key = self._keys.find(_CHECK, access_key_id, check)
        return None if key is None else Secret(key.derive(_SECRET, access_key_id))

    def key_of_token(self, token: str) -> str:
        """Returns the access key that a token names, not verified; empty for another text."""
        named, _, code = token.removeprefix(TOKEN_PREFIX).partition("-")
        return named if token.startswith(TOKEN_PREFIX) and code else ""

    def verify_token(self, token: str, check: str) -> bool:
        """Returns whether a token is that of the access key that it names."""
        access_key_id = self.key_of_token(token)
        key = self._keys.find(_CHECK, access_key_id, check)
        if key is None:
            return False
        expected = f"{TOKEN_PREFIX}{access_key_id}-{key.derive(_TOKEN, access_key_id)}"
        return hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode())
