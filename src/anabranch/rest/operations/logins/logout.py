"""Logging out: the session's token is revoked, and the browser is redirected."""

from __future__ import annotations

from contextlib import suppress

from anabranch.access.sessions.tokens import parse_session_cookie
from anabranch.errors import Unauthenticated
from anabranch.http.response import Response
from anabranch.http.same_origin import comes_from_other_site
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Operation
from anabranch.rest.protocol.session import expired_session_cookie

__all__ = ["PAGES"]

_TEMPORARY_REDIRECT = 307


def log_out(call: Call[None, None]) -> Response:
    """Revokes the tokens of a request, in its cookie and its Authorization header. An invalid one
    is revoked already. A link on another site only leads to the page.
    """
    request, services = call.request, call.services
    headers = [("Location", services.logout_url), ("Cache-Control", "no-store")]
    if comes_from_other_site(request.headers):
        return Response(_TEMPORARY_REDIRECT, headers=headers)
    scheme, _, bearer = request.header("authorization").partition(" ")
    tokens = [parse_session_cookie(request.header("cookie"))]
    if scheme.lower() == "bearer":
        tokens.append(bearer.strip())
    for token in filter(None, tokens):
        with suppress(Unauthenticated):
            services.access.authenticator.log_out(token)
    return Response(_TEMPORARY_REDIRECT, headers=[*headers, expired_session_cookie()])


PAGES = (
    Operation(
        id="logout",
        tag="auth",
        method="GET",
        path="/logout",
        summary="log out",
        permission=Access.NO_AUTH,
        status=_TEMPORARY_REDIRECT,
        handler=log_out,
    ),
)
