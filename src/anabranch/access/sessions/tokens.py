"""Login tokens: JSON Web Tokens (RFC 7519), signed with the installation's key.

The claims are lakeFS 1.84's: `iss` auth, `sub` the user, `aud` login, `iat`, `exp` and a random
`jti`. Of our own are those of `SessionBinding`. The browser's cookie holds the same token.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Any, Literal, TypeGuard, get_args

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import OctKey

from anabranch.access.identities.session_binding import SessionBinding
from anabranch.errors import Unauthenticated
from anabranch.model.secret import Secret

__all__ = [
    "SESSION_COOKIE",
    "WEEK",
    "IssuedToken",
    "Tokens",
    "VerifiedToken",
    "parse_session_cookie",
]

SESSION_COOKIE = "internal_auth_session"
"""The name of the cookie with a browser's token."""

WEEK = 7 * 24 * 3600
"""How long a login lasts, in seconds."""

_Algorithm = Literal["HS256", "HS384", "HS512"]
_ALGORITHMS = get_args(_Algorithm)
_ISSUER = "auth"
_AUDIENCE = "login"
_MAX_TOKEN_LENGTH = 4096
_MAX_CLOCK_SKEW = 60  # in seconds, of the server that issued the token


def parse_session_cookie(cookies: str) -> str | None:
    """Returns the token in a Cookie header, or None."""
    for pair in cookies.split(";") if SESSION_COOKIE in cookies else ():
        name, _, value = pair.strip().partition("=")
        if name == SESSION_COOKIE:
            return value.strip('"')
    return None


class IssuedToken(msgspec.Struct, frozen=True):
    """A new token of a user; `expires_at` in seconds since 1970."""

    token: Secret
    expires_at: int
    username: str


class VerifiedToken(msgspec.Struct, frozen=True):
    """The claims of a valid token; `expires_at` and `issued_at` in seconds since 1970. `digest`
    identifies the token, however it is encoded. What the `binding` names must still be there.
    """

    username: str
    expires_at: float
    issued_at: float
    digest: str
    binding: SessionBinding


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The only accepted headers. They are untrusted, so they are validated before all else: no
    nesting, no key id, no embedded key, no critical extensions.
    """

    alg: _Algorithm
    typ: str = "JWT"


_HEADER_DECODER = msgspec.json.Decoder(_Header)


class Tokens:
    """Issues tokens and verifies them; `duration` in seconds. Tokens that were issued with the
    `other_key` are valid, too; an empty one is none.
    """

    def __init__(
        self,
        key: Secret,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        duration: float = WEEK,
        other_key: Secret = Secret(""),  # noqa: B008  immutable
    ) -> None:
        with warnings.catch_warnings():  # a short key is the operator's choice, as in lakeFS
            warnings.simplefilter("ignore", SecurityWarning)
            self._key, *others = (
                OctKey.import_key(each.reveal().encode()) for each in (key, other_key) if each
            )
        self._keys = (self._key, *others)
        self._clock = clock
        self._new_id = new_id
        self._duration = duration

    def issue(
        self, username: str, binding: SessionBinding, duration: float | None = None
    ) -> IssuedToken:
        """Returns a token for a user, valid from now on for the duration, by default that of
        logins, in seconds, while what the binding names is there.
        """
        now = int(self._clock())
        expires_at = now + int(self._duration if duration is None else duration)
        claims = {
            "jti": self._new_id(),
            "iss": _ISSUER,
            "sub": username,
            "aud": _AUDIENCE,
            "iat": now,
            "exp": expires_at,
            **binding.claims(),
        }
        text = jwt.encode({"alg": "HS256", "typ": "JWT"}, claims, self._key)
        return IssuedToken(Secret(text), expires_at, username)

    def verify(self, token: str) -> VerifiedToken:
        """Returns the claims of a token; raises Unauthenticated unless it was issued by this
        installation, is for logins and has not expired. Takes about 50 microseconds.
        """
        keys = self._keys if len(token) <= _MAX_TOKEN_LENGTH and token.isascii() else ()
        for key in keys:
            with contextlib.suppress(JoseError, ValueError, RecursionError):
                _HEADER_DECODER.decode(urlsafe_b64decode(token.partition(".")[0] + "=="))
                claims = jwt.decode(token, key, algorithms=_ALGORITHMS).claims
                if self._holds(claims):
                    # of the claims: base64 has several texts for one signature
                    text = json.dumps(claims, sort_keys=True)
                    digest = hashlib.sha256(text.encode()).hexdigest()
                    return VerifiedToken(
                        claims["sub"],
                        claims["exp"],
                        claims.get("iat", 0),
                        digest,
                        SessionBinding.from_claims(claims),
                    )
        raise Unauthenticated("error authenticating request")

    def _holds(self, claims: dict[str, Any]) -> bool:
        username, expires_at = claims.get("sub"), claims.get("exp")
        now = self._clock()
        return (
            isinstance(username, str)
            and bool(username)
            and _is_time(expires_at)
            and now < expires_at
            and all(_is_time(claims.get(name, 0)) for name in ("iat", "nbf"))
            and all(claims.get(name, 0) <= now + _MAX_CLOCK_SKEW for name in ("iat", "nbf"))
            and _is_for_login(claims.get("aud"))
        )


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_for_login(audience: object) -> bool:
    # lakeFS leaves the claim out, or empty, in some of its own tokens
    audiences = audience if isinstance(audience, list) else [audience or _AUDIENCE]
    return not audiences or _AUDIENCE in audiences
