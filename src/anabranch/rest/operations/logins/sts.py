"""Short-lived tokens for programs whose users log in at an OpenID Connect provider."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from anabranch.errors import AnabranchError, NotSupported
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Operation
from anabranch.rest.schemas.tokens import (
    DEFAULT_SECONDS,
    LONGEST_SECONDS,
    AuthenticationToken,
)

__all__ = ["OPERATIONS"]


class StsAuthRequest(Body, frozen=True, kw_only=True):
    """A code of the provider, and the redirect URI at which a program received it; the program has
    checked the `state`.
    """

    code: str
    state: str
    redirect_uri: str
    ttl_seconds: Annotated[int, Meta(ge=1, le=LONGEST_SECONDS)] = DEFAULT_SECONDS


def sts_login(call: Call[None, StsAuthRequest]) -> AuthenticationToken:
    """Returns a token for a code of the provider."""
    single_sign_on, audit, body = call.services.single_sign_on, call.request.audit, call.body
    if single_sign_on is None:
        raise NotSupported("Not Implemented", kind="not_implemented")
    try:
        login = single_sign_on.exchange(body.code, body.redirect_uri, body.ttl_seconds)
    except AnabranchError as error:
        if audit is not None:
            audit.refused(error.kind)
        raise
    if audit is not None:
        audit.logged_in(login.username)
    return AuthenticationToken(
        token=login.token.token.reveal(), token_expiration=login.token.expires_at
    )


OPERATIONS = (
    Operation(
        id="stsLogin",
        tag="experimental",
        method="POST",
        path="/sts/login",
        summary="exchange a code of the identity provider for a token",
        permission=Access.NO_AUTH,
        body=StsAuthRequest,
        response=AuthenticationToken,
        handler=sts_login,
    ),
)
