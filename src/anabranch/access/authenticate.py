"""Who asks: from what a request carries to an actor.

A request proves itself by `Authorization: Basic` (access key and secret), `Authorization: Bearer`
(a token) or the session cookie (the same token), looked at in that order. What is there and wrong
is refused; where nothing is there, nobody asks.

What was checked is remembered for `lifetime` seconds, under a keyed digest, so that the memory
holds no header and looking up compares no secret. **A key that is revoked, or a user that is
removed, keeps working for up to `lifetime` seconds** in every server but the one that did it
(which calls `forget`). New keys work at once: nothing is remembered of refusals.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable

import msgspec

from anabranch.access.actor import Actor
from anabranch.access.credentials import Credential, Credentials
from anabranch.access.expiring import Expiring
from anabranch.access.statements import ALLOW_ALL
from anabranch.access.tokens import IssuedToken, Tokens
from anabranch.access.users import Users
from anabranch.errors import Unauthenticated

__all__ = ["Authenticator", "Remembering"]

_LONGEST = 8192
_DIGEST = 16
_HEADER, _COOKIE = b"header", b"cookie"  # so that neither passes for the other


class Remembering(msgspec.Struct, frozen=True, kw_only=True):
    """How much is remembered, and for how many seconds; no seconds turn it off."""

    size: int = 1024
    lifetime: float = 20.0


class Authenticator:
    """Recognises who asks. Safe for use from many threads."""

    def __init__(
        self,
        users: Users,
        credentials: Credentials,
        tokens: Tokens,
        *,
        clock: Callable[[], float],
        ticks: Callable[[], float],
        random_bytes: Callable[[int], bytes],
        remembering: Remembering,
    ) -> None:
        self._users = users
        self._credentials = credentials
        self._tokens = tokens
        self._clock = clock
        self._ticks = ticks
        self._random_bytes = random_bytes
        self._remembering = remembering
        self.forget()

    def authenticate(self, authorization: str | None, session: str | None = None) -> Actor | None:
        """Returns who asks, or None if nobody does; raises Unauthenticated for credentials that
        are wrong. `authorization` is the header's value, `session` the session cookie's.

        A header of another scheme, such as AWS's signatures, is not looked at.
        """
        if authorization is not None:
            digest = self._digest(authorization, _HEADER)
            actor = self._actors.get(digest)
            if actor is not None:
                return actor
            scheme, _, proof = authorization.partition(" ")
            scheme = scheme.lower()
            if scheme == "basic":
                return self._basic(proof.strip(), digest)
            if scheme == "bearer":
                return self._bearer(proof.strip(), digest)
        if session:
            digest = self._digest(session, _COOKIE)
            return self._actors.get(digest) or self._bearer(session, digest)
        return None

    def login(self, access_key_id: str, secret: str) -> IssuedToken:
        """Returns a token for the pair's user; raises Unauthenticated if the pair is wrong."""
        actor, _ = self._check(access_key_id, secret)
        return self._tokens.issue(actor.username)

    def credential(self, access_key_id: str) -> Credential | None:
        """Returns the credential of an access key, as remembered, for checking signatures made
        with its secret; None if there is none.
        """
        known = self._known(access_key_id)
        return None if known is None else known[0]

    def holder(self, access_key_id: str) -> Actor | None:
        """Returns who holds an access key, as remembered; None if nobody does."""
        holders = self._holders
        actor = holders.get(access_key_id)
        if actor is not None:
            return actor
        known = self._known(access_key_id)
        if known is None:
            return None
        credential, deadline = known
        actor = self.actor(credential.username)
        if actor is not None:
            holders.put(access_key_id, actor, deadline)
        return actor

    def actor(self, username: str) -> Actor | None:
        """Returns the user as an actor, or None: whoever is a user is an administrator today."""
        user = self._users.find(username)
        if user is None:
            return None
        return Actor(username=user.username, email=user.email, statements=(ALLOW_ALL,))

    def forget(self) -> None:
        """Forgets all that was checked; to be called after users or credentials changed."""
        # New maps and a new digest, so that what another thread is checking is not kept either.
        size, ticks = self._remembering.size, self._ticks
        self._pairs: Expiring[str, Credential] = Expiring(size, ticks)
        self._holders: Expiring[str, Actor] = Expiring(size, ticks)
        self._actors: Expiring[bytes, Actor] = Expiring(size, ticks)
        self._pepper = self._random_bytes(32)

    def _basic(self, proof: str, digest: bytes) -> Actor:
        access_key_id, secret = _pair(proof)
        actor, deadline = self._check(access_key_id, secret)
        self._actors.put(digest, actor, deadline)
        return actor

    def _bearer(self, token: str, digest: bytes) -> Actor:
        verified = self._tokens.verify(token)
        actor = self.actor(verified.username)
        if actor is None:
            raise _refused()
        left = min(self._remembering.lifetime, verified.expires_at - self._clock())
        self._actors.put(digest, actor, self._ticks() + left)
        return actor

    def _check(self, access_key_id: str, secret: str) -> tuple[Actor, float]:
        """Returns the pair's actor, and until when, in ticks, that may be remembered: no longer
        than the credential is, or a revoked key would live for twice the lifetime.
        """
        known = self._known(access_key_id)
        expected = "" if known is None else known[0].secret.reveal()
        same = hmac.compare_digest(_bytes(secret), _bytes(expected))
        if known is None or not same:
            raise _refused()
        credential, deadline = known
        actor = self.actor(credential.username)
        if actor is None:
            raise _refused()
        return actor, deadline

    def _known(self, access_key_id: str) -> tuple[Credential, float] | None:
        pairs = self._pairs
        known = pairs.entry(access_key_id)
        if known is None:
            credential = self._credentials.find(access_key_id)
            if credential is None:
                return None
            known = credential, self._ticks() + self._remembering.lifetime
            pairs.put(access_key_id, *known)
        return known

    def _digest(self, text: str, place: bytes) -> bytes:
        if len(text) > _LONGEST:
            raise _refused()
        return hashlib.blake2b(
            _bytes(text), key=self._pepper, person=place, digest_size=_DIGEST
        ).digest()


def _pair(proof: str) -> tuple[str, str]:
    try:
        decoded = base64.b64decode(proof, validate=True).decode()
    except ValueError:
        raise _refused() from None
    access_key_id, colon, secret = decoded.partition(":")
    if not colon:
        raise _refused()
    return access_key_id, secret


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _refused() -> Unauthenticated:
    return Unauthenticated("error authenticating request")
