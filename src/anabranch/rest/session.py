"""Who asks, as a request tells: the Authorization header, or the cookie of the web pages."""

from __future__ import annotations

from anabranch.access.actor import Actor
from anabranch.access.authenticate import Authenticator
from anabranch.access.same_origin import counts_session
from anabranch.access.tokens import SESSION_COOKIE, session_in
from anabranch.errors import Denied
from anabranch.rest.call import Request

__all__ = ["authenticate", "ended_session_cookie", "session_cookie"]


def authenticate(authenticator: Authenticator, request: Request, method: str) -> Actor | None:
    """Returns who asks, or None if the request does not tell. Raises Unauthenticated, and Denied
    for the cookie of a request that another site may have caused.
    """
    authorization = request.header("authorization") or None
    session = session_in(request.headers.get("cookie", ""))
    if not session or counts_session(method, request.headers):
        return authenticator.authenticate(authorization, session)
    actor = authenticator.authenticate(authorization)
    if actor is None:
        authenticator.authenticate(None, session)  # a wrong one is refused for that
        raise Denied(
            "the session cookie does not authenticate a change that another site may have caused",
            kind="cross_site",
            hint="Send the token as `Authorization: Bearer`.",
        )
    return actor


def session_cookie(token: str, lifetime: int, *, secure: bool) -> tuple[str, str]:
    """Returns the header that makes a browser keep a token for its lifetime, in seconds."""
    attributes = f"Path=/; Max-Age={lifetime}; HttpOnly; SameSite=Lax"
    return "Set-Cookie", f"{SESSION_COOKIE}={token}; {attributes}{'; Secure' if secure else ''}"


def ended_session_cookie() -> tuple[str, str]:
    """Returns the header that makes a browser forget its token."""
    return "Set-Cookie", f"{SESSION_COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
