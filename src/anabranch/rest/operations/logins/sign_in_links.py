"""Links that sign a browser in once: a program makes one, and the page that it opens uses it."""

from __future__ import annotations

import msgspec

from anabranch.access.sessions.sign_in_links import access_key_needed
from anabranch.errors import AnabranchError, Denied
from anabranch.http.response import Response
from anabranch.http.same_origin import comes_from_other_site
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Operation, OtherResponse
from anabranch.rest.protocol.responses import json_response
from anabranch.rest.protocol.session import named_access_key, session_cookie

__all__ = ["OPERATIONS"]

_PRIVATE = ("Cache-Control", "no-store")


class SignInLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link's user and code; `expires_at` in seconds since 1970. The page is at `/auth/link`, and
    reads them from its fragment, which browsers send to no server:
    `/auth/link#user=USERNAME&code=CODE`.
    """

    username: str
    code: str
    expires_at: int


class SignInLinkUse(Body, frozen=True, kw_only=True):
    """A link that was opened, and whether the person who did so agreed to be this user."""

    username: str
    code: str
    confirmed: bool = False


def create_link(call: Call[None, None]) -> Response:
    """Returns a link for the user of the request's access key. Raises Denied for other requests."""
    if not named_access_key(call.request.header("authorization")):
        raise access_key_needed()
    link = call.services.access.sign_in_links.create(call.authenticated)
    body = SignInLink(username=link.username, code=link.code.reveal(), expires_at=link.expires_at)
    return json_response(201, body, [_PRIVATE])


def use_link(call: Call[None, SignInLinkUse]) -> Response:
    """Sets the cookie of the web pages to a session of the link's user. Raises Denied if another
    site's page caused the request.
    """
    body, audit, services = call.body, call.request.audit, call.services
    if comes_from_other_site(call.request.headers):
        raise Denied(
            "a page of another site cannot sign in",
            kind="cross_site",
            hint="Open the link itself.",
        )
    try:
        issued = services.access.sign_in_links.use(
            body.username, body.code, confirmed=body.confirmed
        )
    except AnabranchError as error:
        if audit is not None:
            audit.refused(error.kind)
        raise
    if audit is not None:
        audit.logged_in(issued.username)
    lifetime = max(0, issued.expires_at - int(services.clock()))
    cookie = session_cookie(issued.token.reveal(), lifetime, secure=call.request.secure)
    return Response(204, headers=[cookie, _PRIVATE])


OPERATIONS = (
    Operation(
        id="createSignInLink",
        tag="auth",
        method="POST",
        path="/auth/links",
        summary="create a link that signs a browser in once",
        permission=Access.ANY_USER,
        status=201,
        response=SignInLink,
        handler=create_link,
    ),
    Operation(
        id="useSignInLink",
        tag="auth",
        method="POST",
        path="/auth/links/use",
        summary="sign in with a link",
        permission=Access.NO_AUTH,
        body=SignInLinkUse,
        status=204,
        others=(OtherResponse(status=409, description="the person must be asked first"),),
        handler=use_link,
    ),
)
