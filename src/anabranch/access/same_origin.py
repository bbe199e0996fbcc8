"""Whether a browser made a request for a page of this server, or another site may have caused it.

A browser sends the session's cookie with requests that other sites cause. It says where requests
come from in headers that no page can set: `Sec-Fetch-Site` (W3C Fetch Metadata) and `Origin`
(RFC 6454).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["counts_session"]

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})


def counts_session(method: str, headers: Mapping[str, str]) -> bool:
    """Returns whether the session cookie of a request authenticates it: always where the method
    changes nothing, else where the request comes from a page of this server. A request that tells
    neither its site nor its origin does not: browsers tell, other clients send the token as
    `Authorization: Bearer`.
    """
    if method in _SAFE_METHODS:
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in _OWN_SITES
    scheme, _, authority = headers.get("origin", "").partition("://")
    return scheme in {"http", "https"} and bool(authority) and authority == headers.get("host", "")
