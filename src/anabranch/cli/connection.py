"""The command line's one HTTP client.

It speaks `/api/v1` with basic authentication. What a server asks to be repeated (429 and 503) is
repeated after the time it names; a connection that breaks is tried again only for requests that
can do no harm twice. Bodies are streamed both ways. Every other answer than the expected one
becomes a `Failure`.
"""

from __future__ import annotations

import json
import random
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from anabranch.cli.failure import Failure, Usage, file_failure
from anabranch.cli.refusal import refusal, unexpected
from anabranch.cli.settings import Settings
from anabranch.cli.transport import Answer, Transport, TransportError

__all__ = ["CHUNK", "Connection", "Content", "Pages"]

ATTEMPTS = 5
FIRST_WAIT = 0.2
LONGEST_WAIT = 30.0
PAGE = 1000
CHUNK = 1 << 20
_GOOD = range(200, 300)
_PART = 206
_ELSEWHERE = range(300, 400)
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


class Content(NamedTuple):
    """A body as it comes: its size in bytes, None if the server does not say, its pieces, and
    which byte it begins with.
    """

    size: int | None
    chunks: Iterator[bytes]
    start: int = 0


class Connection:
    """A connection to the server that the settings name. May be used from several threads."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.server = settings.server
        self._sleep = sleep
        self._reached = False
        try:
            self._transport = Transport(settings.server, environment)
        except ValueError as error:
            hint = "Correct the address of the server, or of the proxy in the environment."
            raise Usage(f"{settings.server}: {error}", hint=hint) from error
        self._headers = {"User-Agent": "anabranch", "X-Lakefs-Client": "anabranch"}
        if settings.access_key_id:
            pair = f"{settings.access_key_id}:{settings.secret_access_key}"
            self._headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"

    def close(self) -> None:
        """Closes all connections."""
        self._transport.close()

    def get(self, *parts: str, **params: Any) -> Any:
        """Returns the JSON answer to a GET of the path made of `parts`; raises Failure."""
        return self._json(_Request("GET", parts, params, repeatable=True))

    def get_tagged(self, *parts: str) -> tuple[Any, str]:
        """Returns the JSON answer to a GET, and its ETag."""
        request = _Request("GET", parts, {}, repeatable=True)
        answer = self._exchange(request)
        tag = answer.header("etag")
        return json.loads(self._body(request, answer) or b"null"), tag

    def send(
        self,
        method: str,
        *parts: str,
        body: Any = None,
        if_match: str | None = None,
        **params: Any,
    ) -> Any:
        """Returns the JSON answer, None if there is none, to a request with a JSON body; with
        `if_match`, on condition that what is there has that ETag (empty for nothing at all).
        """
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        if if_match is not None:
            headers["If-Match"] = if_match
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
        request = _Request(
            *("POST", parts, params, headers, lambda: _measured(content(), size)),
            repeatable=repeatable,
        )
        return self._json(request)

    @contextmanager
    def download(self, *parts: str, start: int = 0, **params: Any) -> Iterator[Content]:
        """Gives a body, from the byte `start` on where the server can give a part; one that ends
        early raises Failure while it is read.
        """
        headers = {"Range": f"bytes={start}-"} if start else {}
        request = _Request("GET", parts, params, headers, repeatable=True)
        answer = self._exchange(request)
        begins = start if answer.status == _PART else 0
        try:
            yield Content(answer.size, self._chunks(request, answer), begins)
        finally:
            answer.close()

    def _chunks(self, request: _Request, answer: Answer) -> Iterator[bytes]:
        try:
            yield from answer.chunks(CHUNK)
        except TransportError as error:
            raise self._broken(request, error) from error

    def _json(self, request: _Request) -> Any:
        answer = self._exchange(request)
        body = self._body(request, answer)
        if not body:
            return None
        if "json" not in (answer.header("content-type") or "json"):
            # the id of a new branch comes as plain text
            if request.method == "POST":
                return body.decode("utf-8", "replace")
            raise unexpected(answer.status, self._where(request))
        try:
            return json.loads(body)
        except ValueError:
            raise unexpected(answer.status, self._where(request)) from None

    def _body(self, request: _Request, answer: Answer) -> bytes:
        try:
            return answer.read()
        except TransportError as error:
            raise self._broken(request, error) from error
        finally:
            answer.close()

    def _exchange(self, request: _Request) -> Answer:
        """Returns a good answer, its body not yet read."""
        for attempt in range(1, ATTEMPTS + 1):
            last = attempt == ATTEMPTS
            try:
                answer = self._send(request)
            except TransportError as error:
                if last or not self._may_repeat(request, error):
                    raise self._broken(request, error) from error
                self._sleep(_pause(attempt, ""))
                continue
            self._reached = True
            if answer.status in _GOOD:
                return answer
            if answer.status in _BUSY and not last and _is_whole(request):
                answer.close()
                self._sleep(_pause(attempt, answer.header("retry-after")))
                continue
            raise self._refused(request, answer)
        raise AssertionError  # the last attempt returns or raises

    def _send(self, request: _Request) -> Answer:
        content = request.content() if callable(request.content) else request.content
        target = self._target(request)
        params = {name: value for name, value in request.params.items() if value is not None}
        if params:
            query = urlencode(params, doseq=True, quote_via=quote, errors="surrogateescape")
            target = f"{target}?{query}"
        headers = {**self._headers, **request.headers}
        return self._transport.send(request.method, target, headers, content)

    def _refused(self, request: _Request, answer: Answer) -> Failure:
        body = self._body(request, answer)
        where = self._where(request)
        if answer.status in _ELSEWHERE:
            return Failure(
                f"the server points elsewhere: {answer.header('location')}",
                hint="Use the address it points to.",
                where=where,
                status=answer.status,
            )
        keys = request.keys + ((request.params["path"],) if "path" in request.params else ())
        hint = answer.header("x-anabranch-hint")
        return refusal(answer.status, body, where, hint=hint, asked=request.parts, keys=keys)

    def _may_repeat(self, request: _Request, error: TransportError) -> bool:
        """A server that never answered is not running, and is better told of at once."""
        return self._reached and _is_whole(request) and (error.unsent or request.repeatable)

    def _target(self, request: _Request) -> str:
        parts = (quote(part, safe="", errors="surrogateescape") for part in request.parts)
        return "/".join([f"{self._transport.path}/api/v1", *parts])

    def _where(self, request: _Request) -> str:
        origin = self.server.removesuffix(self._transport.path)
        return f"{request.method} {origin}{self._target(request)}"

    def _broken(self, request: _Request, error: TransportError) -> Failure:
        if error.unsent:
            message = f"cannot reach {self.server}: {error}"
            hint = "Is the server running (`anabranch serve`), and is the address right?"
            if "certificate" in str(error).lower():
                hint = "If you trust the server, name its certificate in SSL_CERT_FILE."
        else:
            message = f"the connection to {self.server} broke: {error}"
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


def _measured(content: Iterable[bytes], size: int | None) -> Iterator[bytes]:
    """Yields the pieces of a body; raises Failure if they cannot be read, or are not as many
    bytes as were announced: the rest would be taken for another request.
    """
    left = size
    try:
        for chunk in content:
            if left is not None:
                left -= len(chunk)
                if left < 0:
                    break
            yield chunk
    except OSError as error:
        raise file_failure(error) from error
    if left:
        raise Failure(
            "the file changed while it was being read",
            kind="file_error",
            hint="Upload it again when it is complete.",
        )


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
