"""HTTP requests to addresses that users choose.

The guard checks the address of each request, also of those that follow redirects. Proxies of the
environment are not used, since a proxy would resolve the name itself.
"""

from __future__ import annotations

import base64
import http.client
import ssl
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, cast
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

import msgspec

from anabranch.errors import Busy, Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.outbound.connection import Deadline, connect
from anabranch.trace_context import trace_headers

__all__ = [
    "DEFAULT_MAX_REDIRECTS",
    "SAME_REQUEST",
    "HttpResponse",
    "check_headers",
    "check_url",
    "send_request",
]

DEFAULT_MAX_REDIRECTS = 5
SAME_REQUEST = frozenset((307, 308))
"""The redirects that repeat a request as it is: the others make a GET without a body of a POST."""

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_OWN_HEADERS = frozenset(
    ("connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding")
)
_HARMLESS_HEADERS = frozenset(("accept", "accept-language", "content-type", "user-agent"))
_PIECE_BYTES = 1 << 16


class HttpResponse(msgspec.Struct, frozen=True):
    """A response: status, headers with names in lower case, the first bytes of the body, and
    whether more bytes followed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_truncated: bool = False


def check_url(url: str) -> SplitResult:
    """Returns the parts of an address of HTTP. Raises Invalid (kind invalid_url) for any other."""
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")  # it is a ValueError if a label is empty or too long
    except ValueError as error:
        raise _invalid_url(str(error)) from None
    if parts.scheme not in ("http", "https"):
        raise _invalid_url("does not begin with https:// or http://")
    if not parts.hostname or port == 0:
        raise _invalid_url("has no host" if not parts.hostname else "has the port 0")
    if any(character <= " " or character == "\x7f" for character in url):
        raise _invalid_url("has a space or a control character")
    return parts


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns headers of a request. Raises Invalid (kind invalid_header) for one that is no header,
    or that the request sets itself.
    """
    for name, value in headers.items():
        is_token = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
        if not is_token or name.lower() in _OWN_HEADERS:
            raise Invalid(f"the header {name!r} cannot be set", kind="invalid_header")
        if any(character in "\r\n\0" for character in value) or not _is_latin(value):
            raise Invalid(f"the header {name!r} has an invalid value", kind="invalid_header")
    return dict(headers)


def send_request(
    method: str,
    url: str,
    *,
    guard: AddressGuard,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    timeout: float,
    max_response_bytes: int,
    max_redirects: int = DEFAULT_MAX_REDIRECTS,
    redirects: Collection[int] = _REDIRECTS,
    tls: ssl.SSLContext | None = None,
) -> HttpResponse:
    """Returns the response to a request, of any status but those `redirects`, which are followed.
    `timeout` is in seconds, for everything together, from the resolution of the name to the last
    byte. Certificates are verified, by `tls` if given.

    Headers that the caller gives go to another host only if they cannot be secrets. Redirects from
    https to http are refused.

    Raises Invalid for an address or a header that is wrong (invalid_url, invalid_header), an
    address that is not permitted (address_denied) and too many or unsafe redirects
    (redirect_refused); Busy if there is no whole response (outbound_failed, outbound_timeout).
    """
    given = check_headers(headers or {})
    deadline = Deadline(timeout)
    parts = check_url(url)
    for _ in range(max_redirects + 1):
        response = _send(method, parts, guard, given, body, deadline, max_response_bytes, tls)
        location = response.headers.get("location", "")
        if response.status not in redirects or not location:
            return response
        following = _redirect(parts, location)
        if (following.scheme, following.netloc) != (parts.scheme, parts.netloc):
            given = {name: given[name] for name in given if name.lower() in _HARMLESS_HEADERS}
        if response.status == http.HTTPStatus.SEE_OTHER or (
            response.status in (301, 302) and method == "POST"
        ):
            method = "HEAD" if method == "HEAD" else "GET"
            body = b""
            given = {name: given[name] for name in given if name.lower() != "content-type"}
        parts = following
    raise Invalid(f"more than {max_redirects} redirects", kind="redirect_refused")


def _redirect(parts: SplitResult, location: str) -> SplitResult:
    try:
        following = check_url(urljoin(parts.geturl(), location))
    except (Invalid, ValueError) as error:
        raise Invalid(
            f"a redirect to an invalid address: {error}", kind="redirect_refused"
        ) from None
    if parts.scheme == "https" and following.scheme != "https":
        raise Invalid("a redirect from https to http", kind="redirect_refused")
    return following


def _send(
    method: str,
    parts: SplitResult,
    guard: AddressGuard,
    given: Mapping[str, str],
    body: bytes,
    deadline: Deadline,
    max_bytes: int,
    tls: ssl.SSLContext | None,
) -> HttpResponse:
    is_tls = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if is_tls else 80)
    connection = http.client.HTTPConnection(host, port)
    try:
        context = (tls or _default_tls()) if is_tls else None
        # cast: `http.client` uses only what a DeadlineSocket has
        connection.sock = cast(Any, connect(guard, host, port, deadline, context))
        connection.request(method, _target(parts), body or None, _headers(parts, given))
        with connection.getresponse() as response:
            content, is_truncated = _read(response, max_bytes)
    except TimeoutError as error:
        raise Busy(f"{host}: no whole response in time", kind="outbound_timeout") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Busy(f"{host}: {reason}", kind="outbound_failed") from error
    finally:
        connection.close()
    lower_headers = {name.lower(): value for name, value in response.getheaders()}
    return HttpResponse(response.status, lower_headers, content, is_truncated)


def _read(response: http.client.HTTPResponse, max_bytes: int) -> tuple[bytes, bool]:
    content = bytearray()
    while len(content) <= max_bytes:
        piece = response.read(min(_PIECE_BYTES, max_bytes + 1 - len(content)))
        if not piece:
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
            return bytes(content), False
        content += piece
    return bytes(content[:max_bytes]), True


def _target(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    return f"{path}?{quote(parts.query, safe='/?%:@!$&()*+,;=~-._[]')}" if parts.query else path


def _headers(parts: SplitResult, given: Mapping[str, str]) -> dict[str, str]:
    host = parts.netloc.rpartition("@")[2].encode("idna").decode()
    headers = {"Host": host, "Connection": "close"}
    names = {name.lower() for name in given}
    if "user-agent" not in names:
        headers["User-Agent"] = "anabranch"
    if parts.username is not None and "authorization" not in names:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    traced = {name: value for name, value in trace_headers().items() if name not in names}
    return headers | traced | dict(given)


def _is_latin(text: str) -> bool:
    return all(ord(character) < 256 for character in text)  # noqa: PLR2004  ISO 8859-1


@cache
def _default_tls() -> ssl.SSLContext:
    """Made once: that reads all certificates that are trusted."""
    return ssl.create_default_context()


def _invalid_url(reason: str) -> Invalid:
    return Invalid(
        f"the address {reason}", kind="invalid_url", hint="Give one like https://host/path."
    )
