"""Who asks, as a request tells: the Authorization header, or the cookie of the web pages."""

from __future__ import annotations

from anabranch.access.actor import Actor
from anabranch.access.authenticate import Authenticator
from anabranch.access.tokens import SESSION_COOKIE, session_in
from anabranch.rest.call import Request

__all__ = ["authenticate", "ended_session_cookie", "session_cookie"]

_LIFETIME_SECONDS = 2592000


def authenticate(authenticator: Authenticator, request: Request) -> Actor | None:
    """Returns who asks, or None if the request does not tell. Raises Unauthenticated."""
    authorization = request.header("authorization") or None
    session = session_in(request.headers.get("cookie", ""))
    return authenticator.authenticate(authorization, session)


def session_cookie(token: str, *, secure: bool) -> tuple[str, str]:
    """Returns the header that makes a browser keep a token."""
    attributes = f"Path=/; Max-Age={_LIFETIME_SECONDS}; HttpOnly; SameSite=Lax"
    return "Set-Cookie", f"{SESSION_COOKIE}={token}; {attributes}{'; Secure' if secure else ''}"


def ended_session_cookie() -> tuple[str, str]:
    """Returns the header that makes a browser forget its token."""
    return "Set-Cookie", f"{SESSION_COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
