"""Protection of sessions against cross-site requests.

Browsers send the session cookie with requests that other sites cause, too. They state the origin of
a request in headers that pages cannot set: `Sec-Fetch-Site` (W3C Fetch Metadata) and `Origin`
(RFC 6454).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["session_authenticates"]

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})


def session_authenticates(method: str, headers: Mapping[str, str]) -> bool:
    """Returns whether the session cookie authenticates a request: always for methods that change
    nothing, otherwise only for requests from pages of this server. A request with neither header is
    rejected: browsers send them, and other clients send the token as `Authorization: Bearer`.
    """
    if method in _SAFE_METHODS:
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in _OWN_SITES
    scheme, _, authority = headers.get("origin", "").partition("://")
    return scheme in {"http", "https"} and bool(authority) and authority == headers.get("host", "")
