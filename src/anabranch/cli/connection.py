"""The command line's one HTTP client.

It speaks `/api/v1` with basic authentication. What a server asks to be repeated (429 and 503) is
repeated after the time it names; a connection that breaks is tried again only for requests that
can do no harm twice. Bodies are streamed both ways. Every other answer than the expected one
becomes a `Failure`.
"""

from __future__ import annotations

import json
import random
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2

from anabranch.cli.failure import Failure
from anabranch.cli.refusal import refusal, unexpected
from anabranch.cli.settings import Settings

__all__ = ["Connection", "Pages"]

ATTEMPTS = 5
FIRST_WAIT = 0.2
LONGEST_WAIT = 30.0
PAGE = 1000
CHUNK = 1 << 20
_TIMEOUT = httpx2.Timeout(60.0, connect=10.0, read=600.0, pool=None)
_BUSY = (429, 503)

Parameters = Mapping[str, Any]
Body = Callable[[], Iterable[bytes]]


class _Request(NamedTuple):
    """One request, complete enough to be sent again."""

    method: str
    parts: tuple[str, ...]
    params: Parameters
    headers: Mapping[str, str] = {}
    content: bytes | Body | None = None
    keys: tuple[str, ...] = ()
    repeatable: bool = False


class Connection:
    """A connection to the server that the settings name. May be used from several threads."""

    def __init__(
        self,
        settings: Settings,
        *,
        user_agent: str = "anabranch",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.server = settings.server
        self._base = f"{settings.server}/api/v1"
        self._sleep = sleep
        self._reached = False
        auth = (settings.access_key_id, settings.secret_access_key)
        # reading the system's certificates takes longer than a request: not for plain HTTP
        verify = settings.server.startswith("https") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            self._client = httpx2.Client(
                auth=auth if settings.access_key_id else None,
                verify=verify,
                timeout=_TIMEOUT,
                headers={"User-Agent": user_agent, "X-Lakefs-Client": user_agent},
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise Failure(f"the proxy in the environment is not usable: {error}") from error

    def close(self) -> None:
        """Closes all connections."""
        self._client.close()

    def get(self, *parts: str, **params: Any) -> Any:
        """Returns the JSON answer to a GET of the path made of `parts`; raises Failure."""
        return self._json(_Request("GET", parts, params, repeatable=True))

    def send(self, method: str, *parts: str, body: Any = None, **params: Any) -> Any:
        """Returns the JSON answer, None if there is none, to a request with a JSON body."""
        content = None if body is None else json.dumps(body).encode("utf-8", "surrogateescape")
        headers = {} if body is None else {"Content-Type": "application/json"}
        keys: tuple[str, ...] = ()
        if isinstance(body, dict):
            keys = tuple(body[name] for name in ("source", "ref") if name in body)
        return self._json(_Request(method, parts, params, headers, content, keys))

    def pages(self, *parts: str, amount: int | None = None, **params: Any) -> Pages:
        """Returns an iterable of the results of a listing, `amount` of them at most."""
        return Pages(lambda **place: self.get(*parts, **{**params, **place}), amount)

    def upload(
        self,
        *parts: str,
        content: Body,
        size: int | None,
        content_type: str,
        repeatable: bool,
        **params: Any,
    ) -> Any:
        """Returns the answer to a POST of a body that `content` yields anew at each call. With
        `size`, in bytes, the server knows how much must come.
        """
        headers = {"Content-Type": content_type}
        if size is not None:
            headers["Content-Length"] = str(size)
        request = _Request("POST", parts, params, headers, content, repeatable=repeatable)
        return self._json(request)

    @contextmanager
    def download(self, *parts: str, **params: Any) -> Iterator[Iterator[bytes]]:
        """Gives the chunks of a body; a body that ends early raises Failure."""
        headers = {"Accept-Encoding": "identity"}
        request = _Request("GET", parts, params, headers, repeatable=True)
        response = self._exchange(request)
        try:
            yield self._chunks(request, response)
        finally:
            response.close()

    def _chunks(self, request: _Request, response: httpx2.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_raw(CHUNK)
        except httpx2.TransportError as error:
            raise self._broken(request, error) from error

    def _json(self, request: _Request) -> Any:
        response = self._exchange(request)
        try:
            body = response.read()
        except httpx2.TransportError as error:
            raise self._broken(request, error) from error
        finally:
            response.close()
        if not body:
            return None
        if "json" not in response.headers.get("content-type", "json"):
            # the id of a new branch comes as plain text
            if request.method == "POST":
                return body.decode("utf-8", "replace")
            raise unexpected(response.status_code, self._where(request))
        try:
            return json.loads(body)
        except ValueError:
            raise unexpected(response.status_code, self._where(request)) from None

    def _exchange(self, request: _Request) -> httpx2.Response:
        """Returns a good answer, its body not yet read."""
        for attempt in range(1, ATTEMPTS + 1):
            last = attempt == ATTEMPTS
            try:
                response = self._client.send(self._build(request), stream=True)
            except httpx2.TransportError as error:
                if last or not self._may_repeat(request, error):
                    raise self._broken(request, error) from error
                self._sleep(_pause(attempt, ""))
                continue
            self._reached = True
            if response.is_success:
                return response
            if response.status_code in _BUSY and not last and _is_whole(request):
                response.close()
                self._sleep(_pause(attempt, response.headers.get("retry-after", "")))
                continue
            raise self._refused(request, response)
        raise AssertionError  # the last attempt returns or raises

    def _refused(self, request: _Request, response: httpx2.Response) -> Failure:
        try:
            body = response.read()
        except httpx2.TransportError as error:
            return self._broken(request, error)
        finally:
            response.close()
        where = self._where(request)
        if response.is_redirect:
            target = response.headers.get("location", "")
            return Failure(
                f"the server points elsewhere: {target}",
                hint="Use the address it points to.",
                where=where,
                status=response.status_code,
            )
        keys = request.keys + ((request.params["path"],) if "path" in request.params else ())
        return refusal(response.status_code, body, where, asked=request.parts, keys=keys)

    def _may_repeat(self, request: _Request, error: httpx2.TransportError) -> bool:
        """A server that never answered is not running, and is better told of at once."""
        if not self._reached:
            return False
        unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
        return _is_whole(request) and (unsent or request.repeatable)

    def _build(self, request: _Request) -> httpx2.Request:
        content = request.content() if callable(request.content) else request.content
        return self._client.build_request(
            request.method,
            self._url(request),
            params={name: value for name, value in request.params.items() if value is not None},
            headers=request.headers,
            content=content,
        )

    def _url(self, request: _Request) -> str:
        return "/".join([self._base, *(quote(part, safe="") for part in request.parts)])

    def _where(self, request: _Request) -> str:
        return f"{request.method} {self._url(request)}"

    def _broken(self, request: _Request, error: Exception) -> Failure:
        reason = str(error) or type(error).__name__
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            message = f"cannot reach {self.server}: {reason}"
            hint = "Is the server running (`anabranch serve`), and is the address right?"
        else:
            message = f"the connection to {self.server} broke: {reason}"
            hint = "Try again; the server's log may say more."
        return Failure(message, kind="unreachable", hint=hint, where=self._where(request))


class Pages:
    """The results of a listing, fetched page by page while they are read. `next_offset` is where
    the listing goes on after the last one, empty at its end.
    """

    def __init__(self, fetch: Callable[..., Any], amount: int | None) -> None:
        self.next_offset = ""
        self._fetch = fetch
        self._amount = amount

    def __iter__(self) -> Iterator[dict[str, Any]]:
        left = self._amount
        place: dict[str, Any] = {}
        while left is None or left > 0:
            page = self._fetch(amount=PAGE if left is None else min(left, PAGE), **place)
            results = page["results"]
            pagination = page["pagination"]
            yield from results
            self.next_offset = pagination["next_offset"] if pagination["has_more"] else ""
            if not self.next_offset:
                return
            place = {"after": self.next_offset}
            left = None if left is None else left - len(results)


def _is_whole(request: _Request) -> bool:
    """Whether the body can be sent a second time."""
    return request.repeatable or not callable(request.content)


def _pause(attempt: int, retry_after: str) -> float:
    """Returns the seconds to wait: those the server names (RFC 9110, 10.2.3), or a random time
    below a bound that doubles.
    """
    if retry_after.isdecimal():
        return min(float(retry_after), LONGEST_WAIT)
    if retry_after:
        from email.utils import mktime_tz, parsedate_tz  # noqa: PLC0415  hardly ever a date

        moment = parsedate_tz(retry_after)
        if moment:
            return min(max(mktime_tz(moment) - time.time(), 0.0), LONGEST_WAIT)
    bound = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)
    return random.uniform(bound / 2, bound)  # noqa: S311  spreading, not secrecy
