"""Links that sign a browser in, once, as the user who made them.

A program that has an access key makes a link and opens it, so that the key need not be typed into
a page. The link alone holds a random code. The store has the code's digest, by which the record is
found, so a lookup compares no secret.

    access  links/EXPIRY/DIGEST   the user, the time and what made the link; EXPIRY in seconds since
                                  1970, twelve digits

The session depends on what the link depends on: its access key, and its user's record.

A user who gets another person to open a link could have that person work in the wrong account. So a
page shows whose link it is, and asks, unless the user can make access keys for anyone and could as
well act as the person who opens it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.actors import Actors
from anabranch.access.credentials.derived_keys import encode_base64url
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.policies.permissions import Action, AllBelow, Permission
from anabranch.access.records.expiring_records import ExpiringRecords, read_expiry
from anabranch.access.records.layout import OWN_PARTITION
from anabranch.access.sessions.sessions import Sessions
from anabranch.access.sessions.tokens import IssuedToken, Tokens
from anabranch.errors import Conflict, Denied, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.secret import Secret

__all__ = ["LINK_LIFETIME", "SignInLink", "SignInLinks"]

LINK_LIFETIME = 300
"""How long a link is valid, in seconds."""

_PREFIX = b"links/"
_CODE_BYTES = 32
_ANY_KEY = Permission(Action.CREATE_CREDENTIALS, AllBelow("arn:lakefs:auth:::user/"))


class SignInLink(msgspec.Struct, frozen=True):
    """What a link to the sign-in page holds; `expires_at` in seconds since 1970."""

    username: str
    code: Secret
    expires_at: int


class _Record(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    username: str
    issued_at: int
    binding: SessionBinding


_DECODER = msgspec.json.Decoder(_Record)


class SignInLinks:
    """Makes and uses links. `clock` returns seconds since 1970."""

    def __init__(
        self,
        store: KeyValueStore,
        actors: Actors,
        sessions: Sessions,
        tokens: Tokens,
        clock: Callable[[], float],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self._store = store
        self._actors = actors
        self._sessions = sessions
        self._tokens = tokens
        self._clock = clock
        self._random_bytes = random_bytes
        self._records = ExpiringRecords(store, _PREFIX, clock)

    def create(self, actor: Actor) -> SignInLink:
        """Returns a link for a user whom an access key authenticated; raises Denied without."""
        if not actor.binding.access_key_id:
            raise access_key_needed()
        now = int(self._clock())
        expires_at = now + LINK_LIFETIME
        code = f"{expires_at}.{encode_base64url(self._random_bytes(_CODE_BYTES))}"
        record = msgspec.json.encode(_Record(actor.username, now, actor.binding))
        write = Write(OWN_PARTITION, self._key(code, expires_at), record)
        self._store.apply([*self._records.removals(), write], [])
        return SignInLink(actor.username, Secret(code), expires_at)

    def use(self, username: str, code: str, *, confirmed: bool) -> IssuedToken:
        """Returns a token for the user of a link, and uses the link up. `confirmed` says that the
        person who opened it was asked.

        Raises Invalid unless the link is this user's, is valid and is used for the first time, and
        Conflict if the person has to be asked first. The link can still be used then.
        """
        now = self._clock()
        expires_at = read_expiry(code.partition(".")[0])
        key = self._key(code, expires_at)
        stored = self._store.get(OWN_PARTITION, key)
        if stored is None or now >= expires_at:
            raise _refused()
        record = _DECODER.decode(stored)
        actor = self._actors.find(record.username)
        if record.username != username or actor is None or record.issued_at < actor.created_at:
            raise _refused()
        issued = self._tokens.issue(username, record.binding)
        if not self._sessions.is_open(self._tokens.verify(issued.token.reveal()), actor):
            raise _refused()
        if not confirmed and not actor.may(_ANY_KEY):
            raise Conflict(
                f"this link signs you in as {username}",
                kind="sign_in_not_confirmed",
                hint="Send it again with `confirmed` once the person has agreed.",
            )
        if not self._store.apply(
            [Write(OWN_PARTITION, key, None)], [Expect(OWN_PARTITION, key, stored)]
        ):
            raise _refused()
        return issued

    def _key(self, code: str, expires_at: int) -> bytes:
        digest = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
        return self._records.key(expires_at, digest)


def access_key_needed() -> Denied:
    """Returns the error for a link that no access key asks for. A token that lasts an hour must not
    become a session that lasts a week, nor a cookie that scripts cannot read a code that they can.
    """
    return Denied(
        "only an access key makes a link to sign in",
        kind="access_key_needed",
        hint="Send the access key and its secret as `Authorization: Basic`.",
    )


def _refused() -> Invalid:
    return Invalid(
        "this link is not valid, or was used before",
        kind="sign_in_link",
        hint="Links work once, for a few minutes. Sign in with your access key.",
    )
