"""Errors of logins at a provider, by cause."""

from __future__ import annotations

from anabranch.errors import AnabranchError, Busy, Invalid, Unauthenticated

__all__ = [
    "bad_response",
    "client_refused",
    "invalid_token",
    "no_login_attempt",
    "unavailable",
]


def unavailable(reason: str) -> Busy:
    """Returns the error of a provider that does not respond."""
    return Busy(
        f"the identity provider cannot be reached: {reason}", kind="identity_provider_unavailable"
    )


def bad_response(reason: str) -> Busy:
    """Returns the error of a provider whose response breaks the protocol."""
    return Busy(
        f"the identity provider sent an invalid response: {reason}",
        kind="identity_provider_response",
        hint="Try again later; if this lasts, check auth.oidc.url.",
    )


def client_refused(code: str) -> AnabranchError:
    """Returns the error of a provider that does not accept this server as its client."""
    return AnabranchError(
        f"the identity provider does not accept this server as a client: {code}",
        kind="identity_provider_refused_client",
        hint="Check auth.oidc.client_id, auth.oidc.client_secret and the registered redirect URI.",
    )


def invalid_token(reason: str) -> Unauthenticated:
    """Returns the error of an ID token that must not be trusted."""
    return Unauthenticated(
        f"the identity provider's token is not valid: {reason}",
        kind="invalid_id_token",
        hint="Log in again; if this lasts, ask the administrator.",
    )


def no_login_attempt(reason: str) -> Invalid:
    """Returns the error of a response that belongs to no login of this browser."""
    return Invalid(
        f"this response belongs to no login of this browser: {reason}",
        kind="login_state",
        hint="Log in again.",
    )
