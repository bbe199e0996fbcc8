"""Authentication of requests by the Authorization header or the cookie of the web pages."""

from __future__ import annotations

import base64
from typing import Literal

from anabranch.access.actors.actor import Actor
from anabranch.access.sessions.authenticate import Authenticator
from anabranch.access.sessions.tokens import SESSION_COOKIE, parse_session_cookie
from anabranch.errors import Denied
from anabranch.http.same_origin import session_authenticates
from anabranch.rest.protocol.call import Request

__all__ = ["authenticate", "expired_session_cookie", "named_access_key", "session_cookie"]


def authenticate(authenticator: Authenticator, request: Request, method: str) -> Actor | None:
    """Returns the actor, None for an anonymous request. Raises Unauthenticated for invalid
    credentials, Throttled after too many of them, and Denied for a change that is authenticated by
    the session cookie only and that another site may have caused.
    """
    authorization = request.header("authorization") or None
    session = parse_session_cookie(request.headers.get("cookie", ""))
    if not session or session_authenticates(method, request.headers):
        return authenticator.authenticate(authorization, session, request.client)
    actor = authenticator.authenticate(authorization, address=request.client)
    if actor is None:
        authenticator.authenticate(None, session)  # an invalid session raises Unauthenticated
        raise Denied(
            "the session cookie does not authenticate a change that another site may have caused",
            kind="cross_site",
            hint="Send the token as `Authorization: Bearer`.",
        )
    return actor


def named_access_key(authorization: str) -> str:
    """Returns the access key id in an Authorization header, the empty string without one."""
    scheme, _, pair = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(pair.strip(), validate=True).decode().partition(":")[0][:128]
    except ValueError:
        return ""


def session_cookie(
    token: str, lifetime: int, *, secure: bool, same_site: Literal["Strict", "Lax"] = "Strict"
) -> tuple[str, str]:
    """Returns the header that stores a token in a browser for its lifetime, in seconds. A `Lax`
    cookie is also sent when another site leads the browser to a page of this server.
    """
    attributes = f"Path=/; Max-Age={lifetime}; HttpOnly; SameSite={same_site}"
    return "Set-Cookie", f"{SESSION_COOKIE}={token}; {attributes}{'; Secure' if secure else ''}"


def expired_session_cookie() -> tuple[str, str]:
    """Returns the header that deletes the token in a browser."""
    return "Set-Cookie", f"{SESSION_COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
