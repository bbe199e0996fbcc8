"""Logins of the command line through a browser, as RFC 8252 has them for native applications.

    command line   listens on a port of its machine, and opens a page of the server in the browser
    browser        is logged in, or logs in; the user allows it; the server redirects to the port,
                   with a code
    command line   exchanges the code for a token, with the verifier of the challenge that it began
                   with

A code says whose token it is for, is valid for a minute, and is redeemed once. An attacker who
intercepts one lacks the verifier and cannot redeem it. What the user allows is confirmed by a text
that only the page has that asks the user, so no other site can allow anything.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.access.credentials.derived_keys import (
    DerivedKeys,
    decode_base64url,
    encode_base64url,
)
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.identities.users import Users
from anabranch.access.records.expiring_records import read_expiry
from anabranch.access.sessions.single_use import SingleUse
from anabranch.access.sessions.tokens import IssuedToken, Tokens
from anabranch.errors import Invalid
from anabranch.keyvalue.contract import KeyValueStore

__all__ = ["CommandLineLogin", "CommandLineLogins"]

CODE_LIFETIME = 60
CONFIRMATION_LIFETIME = 600
"""How long codes and confirmations are valid, in seconds."""

_CODE, _CONFIRMATION = "code", "confirmation"
_MAX_CODE_LENGTH = 4096
_NONCE_BYTES = 16


class CommandLineLogin(msgspec.Struct, frozen=True, kw_only=True):
    """What a command line asks for: the `port` of this machine to return to, a `state` that it
    recognizes, and PKCE's challenge (S256).
    """

    port: int
    state: str
    challenge: str

    @property
    def shown_code(self) -> str:
        """What command line and page show, so that the user sees that they belong together."""
        text = hashlib.sha256(self.challenge.encode()).hexdigest()[:8].upper()
        return f"{text[:4]}-{text[4:]}"


class _Code(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    nonce: str
    username: str
    issued_at: int
    challenge: str
    binding: SessionBinding = SessionBinding()


_DECODER = msgspec.json.Decoder(_Code)


class CommandLineLogins:
    """Confirms and grants logins. `clock` returns seconds since 1970."""

    def __init__(
        self,
        store: KeyValueStore,
        keys: DerivedKeys,
        users: Users,
        tokens: Tokens,
        clock: Callable[[], float],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self._keys = keys
        self._single_use = SingleUse(store, clock)
        self._users = users
        self._tokens = tokens
        self._clock = clock
        self._random_bytes = random_bytes

    def confirmation(self, actor: Actor, login: CommandLineLogin) -> str:
        """Returns the text that confirms that the user was asked."""
        expires_at = int(self._clock()) + CONFIRMATION_LIFETIME
        asked = _login_fields(actor, login, expires_at)
        return f"{expires_at}.{self._keys.current.derive(_CONFIRMATION, asked)}"

    def grant(self, actor: Actor, login: CommandLineLogin, confirmation: str) -> str:
        """Returns the code for a login that a user allows, which depends on what the user's session
        depends on. Raises Invalid if the user was not asked for exactly that, or too long ago.
        """
        time, _, mac = confirmation.partition(".")
        expires_at = read_expiry(time)
        key = self._keys.find(_CONFIRMATION, _login_fields(actor, login, expires_at), mac)
        if key is None or self._clock() >= expires_at:
            raise Invalid(
                "this was not confirmed, or too long ago",
                kind="login_not_confirmed",
                hint="Run `anabranch login --browser` again.",
            )
        nonce = encode_base64url(self._random_bytes(_NONCE_BYTES))
        now = int(self._clock())
        content = _Code(nonce, actor.username, now, login.challenge, actor.binding)
        text = encode_base64url(msgspec.json.encode(content))
        return f"{text}.{self._keys.current.derive(_CODE, text)}"

    def redeem(self, code: str, verifier: str) -> tuple[str, IssuedToken]:
        """Returns the name of the user who granted a code, and a token. Raises Invalid unless
        the code is valid, fits the verifier and is redeemed for the first time.
        """
        content = self._parse(code)
        digest = hashlib.sha256(verifier.encode("utf-8", "surrogatepass")).digest()
        fits = hmac.compare_digest(content.challenge, encode_base64url(digest))
        expires_at = content.issued_at + CODE_LIFETIME
        if not fits or self._clock() >= expires_at:
            raise _refusal()
        if not self._single_use.use(code, expires_at):
            raise _refusal()
        user = self._users.find(content.username)
        if (
            user is None
            or content.issued_at < user.created_at
            or content.binding.epoch != user.session_epoch
        ):
            raise _refusal()
        return user.username, self._tokens.issue(user.username, content.binding)

    def _parse(self, code: str) -> _Code:
        text, _, mac = code.partition(".")
        if len(code) > _MAX_CODE_LENGTH or self._keys.find(_CODE, text, mac) is None:
            raise _refusal()
        return _DECODER.decode(decode_base64url(text))


def _login_fields(actor: Actor, login: CommandLineLogin, expires_at: int) -> str:
    fields = [actor.username, actor.binding, login.port, login.state, login.challenge, expires_at]
    return msgspec.json.encode(fields).decode()


def _refusal() -> Invalid:
    return Invalid(
        "the code of this login is not valid, or was used before",
        kind="login_code",
        hint="Run `anabranch login --browser` again.",
    )
