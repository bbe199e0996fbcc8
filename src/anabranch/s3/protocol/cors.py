"""Cross-origin requests: the web pages that may use the gateway (CORS of the Fetch standard).

A browser first sends an unsigned preflight request. It shows a response to a page only if the
response names the page's origin. S3 has rules for each bucket; here one list of origins in the
settings applies to all buckets. The browser's own credentials are never allowed, so a page can only
send requests that it signs itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from anabranch.errors import Invalid
from anabranch.http.response import Response
from anabranch.s3.protocol.errors import S3Error

__all__ = ["MAX_AGE_SECONDS", "METHODS", "Cors"]

METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")
"""The methods of S3."""

MAX_AGE_SECONDS = 3000
"""How long a browser may cache the response to a preflight request."""

_ANY = "*"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+")
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105  a token of HTTP
_HEADERS = re.compile(rf"{_TOKEN}(?:[ \t]*,[ \t]*{_TOKEN})*")
_MAX_CACHED_ORIGINS = 256
_VARY = (
    "Vary",
    "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
)
_NOT_ALLOWED = (
    "CORSResponse: This CORS request is not allowed. This is usually because the evaluation of "
    "Origin, request method / Access-Control-Request-Method or Access-Control-Request-Headers are "
    "not whitelisted by the resource's CORS spec."
)


class Cors:
    """The allowed origins, such as `https://app.example.com`, each with at most one `*` that
    matches any characters but a slash, or `*` for all origins. An empty list allows none.

    Raises Invalid for a malformed origin.
    """

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self.origins = tuple(origins)
        for origin in self.origins:
            if origin != _ANY and (origin.count(_ANY) > 1 or not _ORIGIN.fullmatch(origin.lower())):
                raise Invalid(
                    f"gateways.s3.cors contains {origin!r}, which is not an origin",
                    kind="invalid_settings",
                    hint="An origin is a scheme, a host and optionally a port: "
                    "https://app.example.com, https://*.example.com, http://localhost:*, or *.",
                )
        patterns = (re.escape(origin.lower()).replace(r"\*", "[^/]*") for origin in self.origins)
        self._pattern = re.compile("|".join(patterns))
        self._all = _ANY in self.origins
        self._allows = lru_cache(_MAX_CACHED_ORIGINS)(self._matches)

    def is_preflight(self, headers: Mapping[str, str]) -> bool:
        """Returns whether an OPTIONS request is a preflight request that this gateway handles;
        `headers` have lower-case names.
        """
        return bool(self.origins) and "access-control-request-method" in headers

    def preflight(self, headers: Mapping[str, str]) -> Response:
        """Returns the response to a preflight request. Raises S3Error: BadRequest for an incomplete
        one, AccessForbidden.
        """
        origin = headers.get("origin", "")
        method = headers.get("access-control-request-method", "")
        requested_headers = headers.get("access-control-request-headers", "").strip()
        if not origin:
            raise S3Error("BadRequest", "Insufficient information. Origin request header needed.")
        if method not in METHODS:
            raise S3Error(
                "BadRequest", f"Invalid Access-Control-Request-Method: {method or 'null'}"
            )
        if not self.origins:
            raise S3Error("AccessForbidden", "CORSResponse: CORS is not enabled for this bucket.")
        if not self._allows(origin) or (
            requested_headers and not _HEADERS.fullmatch(requested_headers)
        ):
            raise S3Error("AccessForbidden", _NOT_ALLOWED, Method=method)
        response_headers = [
            ("Access-Control-Allow-Methods", ", ".join(METHODS)),
            ("Access-Control-Max-Age", str(MAX_AGE_SECONDS)),
        ]
        if requested_headers:
            response_headers.append(("Access-Control-Allow-Headers", requested_headers))
        return Response(200, headers=response_headers)

    def headers(self, headers: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Returns the headers that let the browser show a response to the page."""
        if not self.origins:
            return ()
        origin = headers.get("origin", "")
        if not origin or not self._allows(origin):
            return (_VARY,)
        return (
            ("Access-Control-Allow-Origin", _ANY if self._all else origin),
            ("Access-Control-Expose-Headers", "ETag, *"),
            _VARY,
        )

    def _matches(self, origin: str) -> bool:
        printable = origin.isascii() and origin.isprintable()  # the origin is sent back in a header
        return self._all or (printable and self._pattern.fullmatch(origin.lower()) is not None)
