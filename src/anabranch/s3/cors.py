"""Requests of web pages from other origins: which pages may use the gateway (the CORS protocol of
the Fetch standard).

A browser asks first, by a preflight request that nothing signs, and then shows a page no response
that does not name its origin. S3 keeps rules for each bucket; here the settings have one list of
origins for all. Credentials of the browser's own are never allowed, so a page can do no more than
what it signs itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from anabranch.errors import Invalid
from anabranch.s3.answer import Answer
from anabranch.s3.errors import S3Error

__all__ = ["MAX_AGE_SECONDS", "METHODS", "Cors"]

METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")
"""The methods of S3."""

MAX_AGE_SECONDS = 3000
"""How long a browser may remember the answer to a preflight request."""

_ANY = "*"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+")
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105  a token of HTTP
_HEADERS = re.compile(rf"{_TOKEN}(?:[ \t]*,[ \t]*{_TOKEN})*")
_REMEMBERED_ORIGINS = 256
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
    """The origins that are allowed: `https://app.example.com`, with at most one `*` for any
    characters but a slash, or `*` for all. Without any, no request from another origin is.

    Raises Invalid for what is no origin.
    """

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self.origins = tuple(origins)
        for origin in self.origins:
            if origin != _ANY and (origin.count(_ANY) > 1 or not _ORIGIN.fullmatch(origin.lower())):
                raise Invalid(
                    f"gateways.s3.cors has {origin!r}, which is no origin",
                    kind="invalid_settings",
                    hint="An origin is a scheme, a host and perhaps a port: "
                    "https://app.example.com, https://*.example.com, http://localhost:*, or *.",
                )
        patterns = (re.escape(origin.lower()).replace(r"\*", "[^/]*") for origin in self.origins)
        self._pattern = re.compile("|".join(patterns))
        self._all = _ANY in self.origins
        self._allows = lru_cache(_REMEMBERED_ORIGINS)(self._matches)

    def takes(self, headers: Mapping[str, str]) -> bool:
        """Returns whether a request of the method OPTIONS is a preflight request that can be
        answered; `headers` have lower-case names.
        """
        return bool(self.origins) and "access-control-request-method" in headers

    def preflight(self, headers: Mapping[str, str]) -> Answer:
        """Returns the answer to a preflight request. Raises S3Error: BadRequest for one that lacks
        something, AccessForbidden.
        """
        origin = headers.get("origin", "")
        method = headers.get("access-control-request-method", "")
        wanted = headers.get("access-control-request-headers", "").strip()
        if not origin:
            raise S3Error("BadRequest", "Insufficient information. Origin request header needed.")
        if method not in METHODS:
            raise S3Error(
                "BadRequest", f"Invalid Access-Control-Request-Method: {method or 'null'}"
            )
        if not self.origins:
            raise S3Error("AccessForbidden", "CORSResponse: CORS is not enabled for this bucket.")
        if not self._allows(origin) or (wanted and not _HEADERS.fullmatch(wanted)):
            raise S3Error("AccessForbidden", _NOT_ALLOWED, Method=method)
        answered = [
            ("Access-Control-Allow-Methods", ", ".join(METHODS)),
            ("Access-Control-Max-Age", str(MAX_AGE_SECONDS)),
        ]
        if wanted:
            answered.append(("Access-Control-Allow-Headers", wanted))
        return Answer(200, headers=answered)

    def headers(self, headers: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        """Returns the headers that every answer to a request has, so that the browser shows it to
        the page.
        """
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
        fit = origin.isascii() and origin.isprintable()  # it is sent back
        return self._all or (fit and self._pattern.fullmatch(origin.lower()) is not None)
