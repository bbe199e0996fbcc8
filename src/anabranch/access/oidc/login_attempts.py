"""Attempts to log in: what connects a provider's response with the browser that began the login.

A browser gets a cookie with a random id, the page to return to and an expiry, authenticated with a
key that is derived from that of the installation. State, nonce and PKCE's verifier are derived from
the id with that key, so that the cookie holds none of them, and the server stores nothing before
the response.

An attempt is redeemed once, on any of several servers; see `SingleUse`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from anabranch.access.credentials.derived_keys import (
    DerivedKey,
    DerivedKeys,
    decode_base64url,
    encode_base64url,
)
from anabranch.access.oidc.login_errors import no_login_attempt
from anabranch.access.sessions.single_use import SingleUse
from anabranch.keyvalue.contract import KeyValueStore

__all__ = ["LIFETIME", "LoginAttempt", "LoginAttempts"]

LIFETIME = 600
"""The time that a user has to log in at the provider, in seconds."""

_MAX_COOKIE_LENGTH = 4096
_ID_BYTES = 32


class LoginAttempt(NamedTuple):
    """An attempt to log in, and the value of its cookie. `next_path` is the page to return to."""

    cookie: str
    state: str
    nonce: str
    verifier: str
    next_path: str
    expires_at: int

    @property
    def challenge(self) -> str:
        """PKCE's challenge of method S256 (RFC 7636, section 4.2)."""
        return encode_base64url(hashlib.sha256(self.verifier.encode()).digest())


class _Content(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The content of a cookie."""

    id: str
    next_path: str
    expires_at: int


_DECODER = msgspec.json.Decoder(_Content)


class LoginAttempts:
    """Begins attempts and redeems them. `clock` returns seconds since 1970."""

    def __init__(
        self,
        store: KeyValueStore,
        keys: DerivedKeys,
        clock: Callable[[], float],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self._single_use = SingleUse(store, clock)
        self._keys = keys
        self._clock = clock
        self._random_bytes = random_bytes

    def begin(self, next_path: str) -> LoginAttempt:
        """Returns a new attempt."""
        login_id = encode_base64url(self._random_bytes(_ID_BYTES))
        content = _Content(login_id, next_path, int(self._clock()) + LIFETIME)
        text = encode_base64url(msgspec.json.encode(content))
        key = self._keys.current
        return _attempt(content, key, f"{text}.{key.derive('cookie', text)}")

    def redeem(self, cookie: str | None, state: str) -> LoginAttempt:
        """Returns the attempt of a cookie, and makes it unusable. Raises Invalid (kind login_state)
        unless the cookie is valid, is that of the state, and is redeemed for the first time.
        """
        attempt = self._parse(cookie)
        if not hmac.compare_digest(attempt.state.encode(), state.encode()):
            raise no_login_attempt("another login was begun since, or in another browser")
        if self._clock() >= attempt.expires_at:
            raise no_login_attempt("it took too long")
        if not self._single_use.use(state, attempt.expires_at):
            raise no_login_attempt("it was used before")
        return attempt

    def _parse(self, cookie: str | None) -> LoginAttempt:
        if not cookie:
            raise no_login_attempt("the browser sent no cookie of a login")
        text, _, mac = cookie.partition(".")
        key = None
        if len(cookie) <= _MAX_COOKIE_LENGTH:
            key = self._keys.find("cookie", text, mac)
        if key is None:
            raise no_login_attempt("the cookie of the login is damaged")
        content = _DECODER.decode(decode_base64url(text))
        return _attempt(content, key, cookie)


def _attempt(content: _Content, key: DerivedKey, cookie: str) -> LoginAttempt:
    return LoginAttempt(
        cookie=cookie,
        state=key.derive("state", content.id),
        nonce=key.derive("nonce", content.id),
        verifier=key.derive("verifier", content.id),
        next_path=content.next_path,
        expires_at=content.expires_at,
    )
