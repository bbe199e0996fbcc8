"""Logins, and the authenticated user."""

from __future__ import annotations

import msgspec

from anabranch.errors import Denied, Unauthenticated
from anabranch.http.execution import Execution
from anabranch.http.response import Response
from anabranch.http.same_origin import comes_from_other_site
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Operation
from anabranch.rest.protocol.responses import json_response
from anabranch.rest.protocol.session import session_cookie
from anabranch.rest.schemas.tokens import AuthenticationToken
from anabranch.rest.schemas.users import User, to_user

__all__ = ["OPERATIONS"]


class CurrentUser(msgspec.Struct, frozen=True):
    """The authenticated user."""

    user: User


class LoginInformation(Body, frozen=True, kw_only=True):
    """A key pair to log in with."""

    access_key_id: str
    secret_access_key: str


class AuthCapabilities(msgspec.Struct, frozen=True):
    """Capabilities of the administration pages."""

    invite_user: bool


def get_current_user(call: Call[None, None]) -> CurrentUser:
    """Returns the authenticated user; an anonymous request gets a user without a name."""
    if call.actor is None:
        return CurrentUser(User(creation_date=0, id=""))
    return CurrentUser(to_user(call.services.access.users.get(call.actor.username)))


def login(call: Call[None, LoginInformation]) -> Response:
    """Returns a token for a key pair, and sets it as the cookie of the web pages. Raises Denied if
    another site's page caused the request: it would make the browser work as a user of its choice.
    """
    body = call.body
    audit = call.request.audit
    if comes_from_other_site(call.request.headers):
        raise Denied(
            "a page of another site cannot log in",
            kind="cross_site",
            hint="Open this server's own page and log in there.",
        )
    try:
        issued = call.services.access.authenticator.login(
            body.access_key_id, body.secret_access_key, call.request.client
        )
    except Unauthenticated as error:
        if audit is not None:
            audit.refused(error.kind, body.access_key_id[:128])
        raise
    if audit is not None:
        audit.logged_in(issued.username)
    token = issued.token.reveal()
    lifetime = max(0, issued.expires_at - int(call.services.clock()))
    return json_response(
        200,
        AuthenticationToken(token=token, token_expiration=issued.expires_at),
        [session_cookie(token, lifetime, secure=call.request.secure)],
    )


def get_auth_capabilities(_: Call[None, None]) -> AuthCapabilities:
    """Returns the capabilities of the administration pages."""
    return AuthCapabilities(invite_user=False)


OPERATIONS = (
    Operation(
        id="getCurrentUser",
        tag="auth",
        method="GET",
        path="/user",
        summary="get current user",
        permission=Access.ANYONE,
        response=CurrentUser,
        execution=Execution.INLINE,
        handler=get_current_user,
    ),
    Operation(
        id="login",
        tag="auth",
        method="POST",
        path="/auth/login",
        summary="perform a login",
        permission=Access.NO_AUTH,
        body=LoginInformation,
        response=AuthenticationToken,
        handler=login,
    ),
    Operation(
        id="getAuthCapabilities",
        tag="internal",
        method="GET",
        path="/auth/capabilities",
        summary="list authentication capabilities supported",
        permission=Access.NO_AUTH,
        response=AuthCapabilities,
        execution=Execution.INLINE,
        handler=get_auth_capabilities,
    ),
)
