"""The cookie of a browser that is about to log in at a provider; see `LoginAttempts`."""

from __future__ import annotations

from anabranch.access.oidc.login_attempts import LIFETIME
from anabranch.rest.protocol.call import Request

__all__ = ["login_cookie", "read_login_cookie"]

_NAME = "anabranch_oidc_login"
_PATH = "/api/v1/oidc/callback"
"""The only path to which browsers send the cookie."""


def login_cookie(value: str, *, secure: bool) -> tuple[str, str]:
    """Returns the header by which a browser stores a login attempt until it expires; an empty value
    deletes the cookie.
    """
    lifetime = LIFETIME if value else 0
    attributes = f"Path={_PATH}; Max-Age={lifetime}; HttpOnly; SameSite=Lax"
    return "Set-Cookie", f"{_NAME}={value}; {attributes}{'; Secure' if secure else ''}"


def read_login_cookie(request: Request) -> str | None:
    """Returns the login attempt that `login_cookie` stored, None without one."""
    for pair in request.headers.get("cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == _NAME:
            return value
    return None
