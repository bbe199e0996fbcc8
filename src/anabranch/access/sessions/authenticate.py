"""Authentication: from the credentials of a request to an actor.

A request authenticates by `Authorization: Basic` (access key and secret), `Authorization: Bearer`
(a token) or the session cookie (the same token), tried in that order. Invalid credentials raise an
error; a request without credentials is anonymous.

Results are cached for `lifetime` seconds under a keyed digest, so that the cache holds no header
and a lookup compares no secret. Each change of access records clears the caches: at once in the
server that made it, and within `poll_interval` seconds in all others, which read the version of the
records when they authenticate a request. New keys work at once, since failures are not cached.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.actors import Actors
from anabranch.access.credentials.credentials import Credential, Credentials
from anabranch.access.credentials.workspace_keys import TOKEN_PREFIX
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.records.changes import AccessChanges
from anabranch.access.sessions.login_throttle import LoginThrottle
from anabranch.access.sessions.sessions import Sessions
from anabranch.access.sessions.tokens import IssuedToken, Tokens
from anabranch.access.sessions.ttl_cache import TTLCache
from anabranch.access.sessions.workspace_grants import WorkspaceGrant, WorkspaceGrants
from anabranch.batching.scheduler import batch
from anabranch.errors import AnabranchError, Unauthenticated
from anabranch.no_waiting import about_to_wait

__all__ = ["AuthCacheSettings", "Authenticator"]

_MAX_CACHED_LENGTH = 8192
_DIGEST = 16
_HEADER, _COOKIE = b"header", b"cookie"  # separate domains: a cached cookie is no valid header


_FINDERS = 64
"""Locks of users that are being found, each of many users."""

_FoundActor: TypeAlias = "tuple[Actor, float] | AnabranchError | None"
"""A user with the deadline of the cache's entry, in ticks; the error that finding it raised."""


class AuthCacheSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Most entries and lifetime in seconds of the caches; a lifetime of 0 disables them.
    `poll_interval` is the time between two reads of the version of access records, in seconds.
    """

    size: int = 1024
    lifetime: float = 20.0
    poll_interval: float = 1.0


class Authenticator:
    """Authenticates requests. Thread-safe."""

    def __init__(
        self,
        changes: AccessChanges,
        actors: Actors,
        credentials: Credentials,
        tokens: Tokens,
        sessions: Sessions,
        *,
        clock: Callable[[], float],
        ticks: Callable[[], float],
        random_bytes: Callable[[int], bytes],
        cache_settings: AuthCacheSettings,
        throttle: LoginThrottle,
        workspaces: WorkspaceGrants,
    ) -> None:
        self.throttle = throttle
        self._workspaces = workspaces
        self._changes = changes
        self._actors = actors
        self._credentials = credentials
        self._tokens = tokens
        self._sessions = sessions
        self._clock = clock
        self._ticks = ticks
        self._random_bytes = random_bytes
        self._cache_settings = cache_settings
        self._polling = threading.Lock()
        self._finding = [threading.Lock() for _ in range(_FINDERS)]
        self._next_poll = float("-inf")
        self._version: bytes | None = None
        self.forget()

    def authenticate(
        self, authorization: str | None, session: str | None = None, address: str = ""
    ) -> Actor | None:
        """Returns the actor, None for an anonymous request; raises Unauthenticated for invalid
        credentials, and Throttled after many wrong ones from the client's `address`.
        `authorization` is the value of the header, `session` that of the session cookie.

        A header of another scheme, such as AWS's signatures, is ignored.
        """
        self._poll()
        if authorization is not None:
            digest = self._digest(authorization, _HEADER)
            actor = self._header_cache.get(digest)
            if actor is not None:
                return actor
            scheme, _, proof = authorization.partition(" ")
            scheme = scheme.lower()
            if scheme == "basic":
                return self._basic(proof.strip(), digest, address)
            if scheme == "bearer":
                return self._bearer(proof.strip(), digest)
        if session:
            digest = self._digest(session, _COOKIE)
            return self._header_cache.get(digest) or self._bearer(session, digest)
        return None

    def login(self, access_key_id: str, secret: str, address: str = "") -> IssuedToken:
        """Returns a token for the pair's user. Raises Unauthenticated if the pair is wrong, and
        Throttled after many wrong ones from the client's `address`.
        """
        actor, _ = self._check(access_key_id, secret, address)
        return self._tokens.issue(actor.username, actor.binding)

    def log_out(self, token: str) -> None:
        """Revokes a token, on all servers within `poll_interval`; raises Unauthenticated for an
        invalid one.
        """
        self._sessions.end(self._tokens.verify(token))

    def find_credential(self, access_key_id: str) -> Credential | None:
        """Returns the credential of an access key, possibly cached, to verify signatures with its
        secret; None if there is none.
        """
        self._poll()
        if (grant := self._workspaces.find(access_key_id)) is not None:
            return Credential(
                access_key_id=access_key_id,
                secret=grant.secret,
                username=grant.creator.username,
                issued_date=0,
            )
        known = self._cached_credential(access_key_id)
        return None if known is None else known[0]

    def find_actor_by_key(self, access_key_id: str) -> Actor | None:
        """Returns the user of an access key, possibly cached; None if there is none. The actor of a
        workspace's key is confined to it.
        """
        self._poll()
        if (grant := self._workspaces.find(access_key_id)) is not None:
            return grant.confine(self.find_actor(grant.creator.username))
        holders = self._key_cache
        actor = holders.get(access_key_id)
        if actor is not None:
            return actor
        known = self._cached_credential(access_key_id)
        if known is None:
            return None
        credential, deadline = known
        found = self._cached_actor(credential.username)
        if found is None:
            return None
        holders.put(access_key_id, found[0], min(deadline, found[1]))
        return found[0]

    def find_actor(self, username: str) -> Actor | None:
        """Returns a user as an actor, possibly cached; None if there is none."""
        known = self._cached_actor(username)
        return None if known is None else known[0]

    def find_bound_actor(self, username: str, binding: SessionBinding) -> Actor | None:
        """Returns a user as an actor, possibly cached; None if there is none, or if what a session
        of the user depends on is not there any more.
        """
        self._poll()
        actor = self.find_actor(username)
        if actor is None or actor.binding.epoch != binding.epoch:
            return None
        if not binding.access_key_id:
            return actor if self._sessions.has_opener(username, binding) else None
        known = self._cached_credential(binding.access_key_id)
        if known is None:
            return None
        opener = known[0].username, known[0].record_id
        return actor if opener == (username, binding.opener_record) else None

    def forget(self) -> None:
        """Clears the caches; must be called after users or credentials change."""
        # New caches and a new digest key: a check in another thread stores into the old ones.
        size, ticks = self._cache_settings.size, self._ticks
        self._actor_cache: TTLCache[str, Actor] = TTLCache(size, ticks)
        self._credential_cache: TTLCache[str, Credential] = TTLCache(size, ticks)
        self._key_cache: TTLCache[str, Actor] = TTLCache(size, ticks)
        self._header_cache: TTLCache[bytes, Actor] = TTLCache(size, ticks)
        self._pepper = self._random_bytes(32)

    def _poll(self) -> None:
        """Clears the caches if another server has changed access records. Reads the version at
        most once per `poll_interval`; other threads go on with the caches meanwhile.
        """
        if self._ticks() < self._next_poll or not self._polling.acquire(blocking=False):
            return
        try:
            # a store that cannot be read leaves the caches, whose entries expire
            with suppress(AnabranchError):
                version = self._changes.version()
                if version != self._version:
                    self._version = version
                    self.forget()
            self._next_poll = self._ticks() + self._cache_settings.poll_interval
        finally:
            self._polling.release()

    def _basic(self, encoded_pair: str, digest: bytes, address: str) -> Actor:
        access_key_id, secret = _decode_pair(encoded_pair)
        if (grant := self._workspaces.find(access_key_id)) is not None:
            self.throttle.check(access_key_id, address)
            if not hmac.compare_digest(_encode(secret), _encode(grant.secret.reveal())):
                self.throttle.failed(access_key_id, address)
                raise _authentication_error()
            self.throttle.succeeded(access_key_id, address)
            return self._confined(grant)
        actor, deadline = self._check(access_key_id, secret, address)
        self._header_cache.put(digest, actor, deadline)
        return actor

    def _confined(self, grant: WorkspaceGrant) -> Actor:
        """Returns the actor of a workspace's keys, which is never cached. Raises Unauthenticated
        unless its creator is an active user.
        """
        actor = grant.confine(self.find_actor(grant.creator.username))
        if actor is None:
            raise _authentication_error()
        return actor

    def _bearer(self, token: str, digest: bytes) -> Actor:
        if token.startswith(TOKEN_PREFIX):
            grant = self._workspaces.find(self._workspaces.keys.key_of_token(token))
            if grant is None or not grant.has_token(token):
                raise _authentication_error()
            return self._confined(grant)
        verified = self._tokens.verify(token)
        found = self._cached_actor(verified.username)
        if found is None or not self._sessions.is_open(verified, found[0]):
            raise _authentication_error()
        user, deadline = found
        actor = user.in_session(verified.binding)
        remaining = verified.expires_at - self._clock()
        self._header_cache.put(digest, actor, min(deadline, self._ticks() + remaining))
        return actor

    def _check(self, access_key_id: str, secret: str, address: str) -> tuple[Actor, float]:
        """Returns the pair's actor and the deadline of its cache entry, in ticks: the earlier one
        of the credential's and the actor's entries, since a revoked key would otherwise work for
        twice the lifetime.
        """
        self.throttle.check(access_key_id, address)
        known = self._cached_credential(access_key_id)
        expected = "" if known is None else known[0].secret.reveal()
        same = hmac.compare_digest(_encode(secret), _encode(expected))
        if known is None or not same:
            if known is not None:
                self.throttle.failed(access_key_id, address)
            raise _authentication_error()
        self.throttle.succeeded(access_key_id, address)
        credential, deadline = known
        found = self._cached_actor(credential.username)
        if found is None:
            raise _authentication_error()
        binding = SessionBinding(
            epoch=found[0].binding.epoch,
            access_key_id=access_key_id,
            opener_record=credential.record_id,
        )
        return found[0].in_session(binding), min(deadline, found[1])

    def _cached_actor(self, username: str) -> tuple[Actor, float] | None:
        known: _FoundActor = self._actor_cache.get_with_deadline(username)
        if known is None:
            about_to_wait()  # for the lock, while others read
            known = batch(self._find_actors, username)
        if isinstance(known, AnabranchError):
            raise known
        return known

    def _find_actors(self, usernames: Sequence[str]) -> list[_FoundActor]:
        """Finds users, each once for all calls that wait for it: to find one takes a dozen reads,
        and all requests of a user miss the cache in the same moment.
        """
        return [self._found_actor(username) for username in usernames]

    def _found_actor(self, username: str) -> _FoundActor:
        with self._finding[hash(username) % _FINDERS]:
            actors = self._actor_cache
            known = actors.get_with_deadline(username)
            if known is not None:
                return known
            try:
                actor = self._actors.find(username)
            except AnabranchError as error:
                return error  # which is not one of the other users
            if actor is None:
                return None
            known = actor, self._ticks() + self._cache_settings.lifetime
            actors.put(username, *known)
            return known

    def _cached_credential(self, access_key_id: str) -> tuple[Credential, float] | None:
        pairs = self._credential_cache
        known = pairs.get_with_deadline(access_key_id)
        if known is None:
            credential = self._credentials.find(access_key_id)
            if credential is None:
                return None
            known = credential, self._ticks() + self._cache_settings.lifetime
            pairs.put(access_key_id, *known)
        return known

    def _digest(self, text: str, place: bytes) -> bytes:
        if len(text) > _MAX_CACHED_LENGTH:
            raise _authentication_error()
        return hashlib.blake2b(
            _encode(text), key=self._pepper, person=place, digest_size=_DIGEST
        ).digest()


def _decode_pair(proof: str) -> tuple[str, str]:
    try:
        decoded = base64.b64decode(proof, validate=True).decode()
    except ValueError:
        raise _authentication_error() from None
    access_key_id, colon, secret = decoded.partition(":")
    if not colon:
        raise _authentication_error()
    return access_key_id, secret


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _authentication_error() -> Unauthenticated:
    return Unauthenticated("error authenticating request")
