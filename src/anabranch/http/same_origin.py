"""Protection of sessions against cross-site requests.

Browsers send the session cookie with requests that other sites cause, too. They state the origin of
a request in headers that pages cannot set: `Sec-Fetch-Site` (W3C Fetch Metadata) and `Origin`
(RFC 6454).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["comes_from_other_site", "session_authenticates"]

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})


def session_authenticates(method: str, headers: Mapping[str, str]) -> bool:
    """Returns whether the session cookie authenticates a request: always for methods that change
    nothing, otherwise only for requests from pages of this server. A request with neither header is
    rejected: browsers send them, and other clients send the token as `Authorization: Bearer`.
    """
    if method in _SAFE_METHODS:
        return True
    stated = "sec-fetch-site" in headers or "origin" in headers
    return stated and not comes_from_other_site(headers)


def comes_from_other_site(headers: Mapping[str, str]) -> bool:
    """Returns whether a browser states that a page of another site caused a request. A request with
    neither header is not of a page.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN_SITES
    origin = headers.get("origin")
    if origin is None:
        return False
    scheme, _, authority = origin.partition("://")
    is_own = scheme in {"http", "https"} and authority and authority == headers.get("host", "")
    return not is_own
