"""Requests to the REST interface of a server, with basic authentication, retries and streams.

A response with status 429 or 503 is retried after the time that the server names. A connection that
breaks is tried again only for requests that may be sent twice. Bodies are streamed both ways.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote, urlencode

from anabranch.client.error_responses import ErrorResponse, parse_error_response, to_error
from anabranch.client.listing_pages import Pages
from anabranch.client.other_hosts import OtherHosts
from anabranch.client.retry_policy import DEFAULT_RETRIES, RetryPolicy
from anabranch.client.transport import Response, Transport, TransportError
from anabranch.errors import AnabranchError, Busy, Invalid, OutcomeUnknown
from anabranch.model.secret import Secret
from anabranch.trace_context import trace_headers

__all__ = ["CHUNK", "Content", "Request", "RestClient", "Timeouts", "quote_segment"]

CHUNK = 1 << 20
_SUCCESS = range(200, 300)
_REDIRECT = range(300, 400)
_PARTIAL_CONTENT = 206
_BUSY = (429, 503)
_REF_FIELDS = ("source", "ref", "source_branch", "destination_branch")

Body = Callable[[], Iterable[bytes]]


class Timeouts(NamedTuple):
    """Seconds to wait for a connection (`connect`), and for each read of a request that reads and
    of one that changes something. Without `connect`, the other two limit that as well.
    """

    read: float = 600.0
    change: float = 600.0
    connect: float | None = 10.0


DEFAULT_TIMEOUTS = Timeouts()


class Request(NamedTuple):
    """One request, complete enough to be sent again. `segments` are its path below `/api/v1`,
    `content` a body or a function that yields it again at each call, `keys` the names in its body
    that a hint can use. With `repeatable`, it does no harm to send it twice; with `redirects`, a
    redirect is a response as good as any.
    """

    method: str
    segments: tuple[str, ...]
    params: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    content: bytes | Body | None = None
    keys: tuple[str, ...] = ()
    repeatable: bool = False
    timeout: float | None = None
    redirects: bool = False

    @property
    def can_resend(self) -> bool:
        """Whether the body can be sent again."""
        return self.repeatable or not callable(self.content)


class Content(NamedTuple):
    """A body that is streamed: its size in bytes, None if the server does not say, its pieces, and
    the position of its first byte.
    """

    size: int | None
    chunks: Iterator[bytes]
    start: int = 0


class RestClient:
    """The REST interface of the server at `url`. May be used from several threads, and pickled: a
    copy opens connections of its own, through the proxy that its environment names.

    Without an environment, that of the process counts. Raises ValueError for a URL that cannot be
    parsed, of the server or of the proxy.
    """

    def __init__(
        self,
        url: str,
        authorization: Secret,
        *,
        environment: Mapping[str, str] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        retries: RetryPolicy = DEFAULT_RETRIES,
        keep_alive: bool = True,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url
        self._authorization = authorization
        self._timeouts = timeouts
        self._retries = retries
        self._keep_alive = keep_alive
        self._sleep = sleep
        self._reached = False
        proxies = os.environ if environment is None else environment
        self._transport = Transport(url, proxies, keep_alive=keep_alive)
        self._others = OtherHosts(proxies)

    def __getstate__(self) -> dict[str, Any]:
        connections = ("_transport", "_others")
        return {name: value for name, value in vars(self).items() if name not in connections}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._transport = Transport(self.url, os.environ, keep_alive=self._keep_alive)
        self._others = OtherHosts(os.environ)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def close(self) -> None:
        """Closes all connections."""
        self._transport.close()
        self._others.close()

    def abort(self) -> None:
        """Breaks the connections of the requests in flight, which then fail; no others begin."""
        self._transport.abort()
        self._others.abort()

    def get(self, *segments: str, **params: Any) -> Any:
        """Returns the JSON of the response to a GET."""
        return self.request_json(Request("GET", segments, params, repeatable=True))

    def get_tagged(self, *segments: str) -> tuple[Any, str]:
        """Returns the JSON of the response to a GET, and its ETag."""
        request = Request("GET", segments, repeatable=True)
        response = self.exchange(request)
        tag = response.header("etag")
        return self._parse(request, response), tag

    def send(
        self,
        method: str,
        *segments: str,
        body: Any = None,
        if_match: str | None = None,
        **params: Any,
    ) -> Any:
        """Returns the JSON of the response, None without one, to a request with a JSON body. With
        `if_match`, the target must have that ETag (empty: it must not exist).
        """
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        if if_match is not None:
            headers["If-Match"] = if_match
        keys: tuple[str, ...] = ()
        if isinstance(body, dict):
            keys = tuple(body[name] for name in _REF_FIELDS if name in body)
        return self.request_json(Request(method, segments, params, headers, content, keys))

    def pages(self, *segments: str, amount: int | None = None, **params: Any) -> Pages:
        """Returns an iterable of the results of a listing, `amount` of them at most."""
        return Pages(lambda **position: self.get(*segments, **{**params, **position}), amount)

    @contextmanager
    def download(self, *segments: str, start: int = 0, **params: Any) -> Iterator[Content]:
        """Gives a body, from the byte `start` on if the server supports ranges. If the body ends
        early, reading its last piece raises an error.
        """
        headers = {"Range": f"bytes={start}-"} if start else {}
        request = Request("GET", segments, params, headers, repeatable=True)
        with self.exchange(request) as response:
            begins = start if response.status == _PARTIAL_CONTENT else 0
            yield Content(response.size, self._chunks(request, response), begins)

    @contextmanager
    def download_result(self, *segments: str, body: Any) -> Iterator[Content]:
        """Gives the body of the response to a POST of JSON that changes nothing."""
        content = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = Request("POST", segments, {}, headers, content, repeatable=True)
        with self.exchange(request) as response:
            yield Content(response.size, self._chunks(request, response))

    def request_json(self, request: Request) -> Any:
        """Returns the JSON of the response to a request, None without a body."""
        return self._parse(request, self.exchange(request))

    def exchange(self, request: Request) -> Response:
        """Returns the response to a request if its status is a success. Its body is not read yet.
        Raises the errors that `status_error` and `transport_error` return.
        """
        for attempt in range(1, self._retries.attempts + 1):
            is_last = attempt == self._retries.attempts
            try:
                response = self._send(request)
            except TransportError as error:
                if is_last or not self._may_retry(request, error):
                    raise self.transport_error(request, error) from error
                self._sleep(self._retries.delay(attempt))
                continue
            self._reached = True
            if response.status in _SUCCESS or (request.redirects and response.status in _REDIRECT):
                return response
            if not is_last and _may_resend(request, response):
                response.close()
                self._sleep(self._retries.delay(attempt, response.header("retry-after")))
                continue
            self._raise_for_status(request, response)
        raise AssertionError  # the last attempt returns or raises

    def send_elsewhere(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] | None = None,
    ) -> Response:
        """Returns the response, whatever its status, to a request to an address elsewhere, without
        the credentials; a host that is too busy for it is asked again. For requests that may be
        sent twice. Raises TransportError.
        """
        connect_timeout = self._timeouts.connect or self._timeouts.read
        for attempt in range(1, self._retries.attempts + 1):
            is_last = attempt == self._retries.attempts
            try:
                response = self._others.send(
                    *(method, url, headers, body),
                    timeout=self._timeouts.read,
                    connect_timeout=connect_timeout,
                )
            except TransportError as error:
                if is_last or error.unsent:
                    raise
                self._sleep(self._retries.delay(attempt))
                continue
            if is_last or response.status not in _BUSY:
                return response
            response.close()
            self._sleep(self._retries.delay(attempt, response.header("retry-after")))
        raise AssertionError  # the last attempt returns or raises

    def read(self, request: Request, response: Response) -> bytes:
        """Returns the body of a response, and closes that."""
        with response:
            try:
                return response.read()
            except TransportError as error:
                raise self.transport_error(request, error) from error

    def location(self, request: Request) -> str:
        """Returns the method and the URL of a request, without its parameters."""
        origin = self.url.removesuffix(self.base_path)
        return f"{request.method} {origin}{self.request_path(request)}"

    def request_path(self, request: Request) -> str:
        """Returns the path to which a request is sent; of another interface for subclasses."""
        segments = (quote_segment(name) for name in request.segments)
        return "/".join([f"{self.base_path}/api/v1", *segments])

    @property
    def base_path(self) -> str:
        """The path of the server's URL, without a slash at its end."""
        return self._transport.path

    def status_error(self, request: Request, response: ErrorResponse) -> AnabranchError:  # noqa: ARG002  for subclasses
        """Returns the error that a response stands for."""
        return to_error(self.url, response)

    def transport_error(self, request: Request, error: TransportError) -> AnabranchError:
        """Returns Busy for a request that has changed nothing: one that reads, or that was not
        sent; OutcomeUnknown for one that may have arrived, although its response did not.
        """
        kind = Busy if error.unsent or request.method in ("GET", "HEAD") else OutcomeUnknown
        return kind(f"{self.url}: {error}")

    def content_error(self, request: Request, status: int) -> AnabranchError:  # noqa: ARG002  for subclasses
        """Returns the error of a successful response that is not JSON."""
        return Invalid(
            f"{self.url}: the response is not that of a lakeFS-compatible server",
            kind="not_a_server",
            hint="Is the address of the server right?",
        )

    def _parse(self, request: Request, response: Response) -> Any:
        body = self.read(request, response)
        if not body:
            return None
        if "json" not in (response.header("content-type") or "json"):
            # the id of a new branch is plain text
            if request.method == "POST":
                return body.decode("utf-8", "replace")
            raise self.content_error(request, response.status)
        try:
            return json.loads(body)
        except ValueError:
            raise self.content_error(request, response.status) from None

    def _chunks(self, request: Request, response: Response) -> Iterator[bytes]:
        try:
            yield from response.chunks(CHUNK)
        except TransportError as error:
            raise self.transport_error(request, error) from error

    def _raise_for_status(self, request: Request, response: Response) -> NoReturn:
        body = self.read(request, response)
        raise self.status_error(request, parse_error_response(response, body))

    def _send(self, request: Request) -> Response:
        content = request.content() if callable(request.content) else request.content
        target = self.request_path(request)
        params = {name: value for name, value in request.params.items() if value is not None}
        if params:
            query = urlencode(params, doseq=True, quote_via=quote, errors="surrogateescape")
            target = f"{target}?{query}"
        headers = {"User-Agent": "anabranch", "X-Lakefs-Client": "anabranch", **trace_headers()}
        headers |= request.headers
        if self._authorization:
            headers["Authorization"] = self._authorization.reveal()
        timeout = request.timeout
        if timeout is None:
            reads = request.method in ("GET", "HEAD")
            timeout = self._timeouts.read if reads else self._timeouts.change
        connect_timeout = timeout if self._timeouts.connect is None else self._timeouts.connect
        return self._transport.send(
            *(request.method, target, headers, content),
            timeout=timeout,
            connect_timeout=connect_timeout,
        )

    def _may_retry(self, request: Request, error: TransportError) -> bool:
        """Without any response so far the server is not running, which is reported at once."""
        return self._reached and request.can_resend and (error.unsent or request.repeatable)


def _may_resend(request: Request, response: Response) -> bool:
    """Whether a request that the server was too busy for may be sent again. It may have been made
    if the server lost its database meanwhile.
    """
    if response.status not in _BUSY or not request.can_resend:
        return False
    return request.repeatable or response.header("x-anabranch-kind") != OutcomeUnknown.kind


def quote_segment(name: str) -> str:
    """Returns a name as a segment of a path. Servers decode a segment a second time if it looks
    quoted twice, as `v%5E1` does, so a name with a percent sign is quoted twice.
    """
    quoted = quote(name, safe="", errors="surrogateescape")
    return quote(quoted, safe="") if "%" in name else quoted
