"""Single sign-on: a login at an OpenID Connect provider, in two steps.

    begin     the browser gets a cookie and goes to the provider, where the user logs in
    finish    the provider sends the browser back with a code, which is exchanged for an ID token;
              from its claims the user is found or created, and gets a session

This is the authorization code flow of OpenID Connect Core 1.0, section 3.1, with PKCE (RFC 7636)
and the issuer in responses (RFC 9207).
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from anabranch.access.access import Access
from anabranch.access.credentials.derived_keys import DerivedKeys
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.oidc.configuration import Configuration
from anabranch.access.oidc.identity import (
    Identity,
    check_required,
    missing_claims,
    to_identity,
)
from anabranch.access.oidc.login_attempts import LoginAttempts
from anabranch.access.oidc.login_errors import invalid_token, no_login_attempt
from anabranch.access.oidc.next_path import check_next_path
from anabranch.access.oidc.provider import Provider, Tokens
from anabranch.access.oidc.provider_requests import ProviderRequests
from anabranch.access.oidc.provisioning import Provisioning
from anabranch.access.sessions.tokens import IssuedToken
from anabranch.errors import Denied, NotSupported
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.secret import Secret

__all__ = ["AuthorizationResponse", "BegunLogin", "FinishedLogin", "SingleSignOn"]

_ERROR_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")

_log = logging.getLogger(__name__)


class AuthorizationResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters with which a provider sends a browser back; empty ones are missing."""

    state: str = ""
    code: str = ""
    error: str = ""
    iss: str = ""


class BegunLogin(NamedTuple):
    """Where to send the browser, and the value of the cookie that it gets."""

    url: str
    cookie: str


class FinishedLogin(NamedTuple):
    """The user's token, and the path to which the browser returns."""

    username: str
    token: IssuedToken
    next_path: str


class SingleSignOn:
    """Logins at one provider. `key` is the key of the installation; logins that began with
    `other_key` are finished, too. `clock` returns seconds since
    1970, `ticks` is a monotonic clock in seconds. `is_default` is whether login pages redirect to
    the provider, `is_secure` whether browsers use TLS.
    """

    def __init__(
        self,
        configuration: Configuration,
        keyvalue: KeyValueStore,
        key: Secret,
        access: Access,
        *,
        other_key: Secret = Secret(""),  # noqa: B008  immutable
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self.is_default = configuration.is_default
        self.is_secure = configuration.client.redirect_uri.startswith("https:")
        self._configuration = configuration
        self._clock = clock
        self._tokens = access.tokens
        self._attempts = LoginAttempts(
            keyvalue, DerivedKeys(key, other_key, "oidc login"), clock, random_bytes
        )
        requests = ProviderRequests(configuration.request_timeout)
        self._provider = Provider(configuration.client, requests, ticks=ticks)
        self._provisioning = Provisioning(
            keyvalue,
            access.changes,
            access.users,
            access.groups,
            configuration.groups,
            clock,
            updates_friendly_names=configuration.updates_friendly_names,
        )

    def begin(self, next_path: str) -> BegunLogin:
        """Returns where a login begins, which will return to a path of this server. Raises Invalid
        for another path, and Busy if the provider cannot be reached.
        """
        attempt = self._attempts.begin(check_next_path(next_path))
        url = self._provider.authorization_url(
            state=attempt.state, nonce=attempt.nonce, challenge=attempt.challenge
        )
        return BegunLogin(url, attempt.cookie)

    def finish(self, cookie: str | None, response: AuthorizationResponse) -> FinishedLogin:
        """Returns the login of a browser that the provider sent back.

        Raises Invalid for a response that belongs to no login of this browser, Unauthenticated for
        one that proves nothing, Denied if the user may not log in, Busy if the provider does not
        work, and AnabranchError if it does not accept this server. There is no login then, and no
        new user.
        """
        attempt = self._attempts.redeem(cookie, response.state)
        self._check_issuer(response)
        if response.error or not response.code:
            raise _not_logged_in(response.error)
        tokens = self._provider.exchange(response.code, attempt.verifier)
        identity = self._identify(tokens, attempt.nonce)
        user = self._provisioning.provide(identity)
        _log.info("the user %r logged in at the identity provider", user.username)
        token = self._tokens.issue(user.username, SessionBinding(epoch=user.session_epoch))
        return FinishedLogin(user.username, token, attempt.next_path)

    def exchange(self, code: str, redirect_uri: str, lifetime: float) -> FinishedLogin:
        """Returns the login of a program whose user logged in at the provider, and which received
        this code at this URI. The token is valid for the lifetime, in seconds.

        Raises NotSupported if programs may not log in so, Denied for a URI that is not theirs, and
        the errors of `finish`.
        """
        uris = self._configuration.client.program_redirect_uris
        if not uris:
            raise NotSupported("Not Implemented", kind="not_implemented")
        if redirect_uri not in uris:
            raise Denied(
                "codes of this redirect URI are not accepted",
                kind="unknown_redirect_uri",
                hint="The setting auth.oidc.sts_redirect_uris names those that are.",
            )
        tokens = self._provider.exchange(code, "", redirect_uri)
        user = self._provisioning.provide(self._identify(tokens, None))
        _log.info("a program of the user %r logged in at the identity provider", user.username)
        binding = SessionBinding(epoch=user.session_epoch)
        token = self._tokens.issue(user.username, binding, lifetime)
        return FinishedLogin(user.username, token, next_path="")

    def _identify(self, tokens: Tokens, nonce: str | None) -> Identity:
        claims = self._provider.validate(tokens.id_token, nonce=nonce, now=self._clock())
        names = self._configuration.claims
        if missing_claims(claims, names):
            # some providers send these claims from their userinfo endpoint only
            claims = self._provider.userinfo(tokens.access_token, claims["sub"]) | claims
        check_required(claims, names)
        return to_identity(claims, names)

    def _check_issuer(self, response: AuthorizationResponse) -> None:
        issuer = self._configuration.client.issuer
        sends_issuer = self._provider.metadata().authorization_response_iss_parameter_supported
        if (response.iss or sends_issuer) and response.iss != issuer:
            raise invalid_token("the response is of another issuer")


def _not_logged_in(error: str) -> Exception:
    if not error:
        return no_login_attempt("it has no code")
    shown = error if _ERROR_CODE.fullmatch(error) else "unknown error"
    return Denied(
        f"the identity provider did not log you in: {shown}",
        kind="login_denied",
        hint="Log in again, or ask the administrator for access.",
    )
