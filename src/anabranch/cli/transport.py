"""HTTP/1.1 for the command line: requests, streamed bodies, and connections kept for the next.

On the standard library's client, because importing a larger one takes longer than most commands
(measured: 0.05 s against 0.16 s of CPU). What that client leaves to its caller is done here: a
connection per thread at a time, idle ones looked at before they are used again, an end that comes
too early, an answer that comes before the body is sent, and proxies.
"""

from __future__ import annotations

import http.client
import select
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock
from urllib.parse import SplitResult, unquote, urlsplit

__all__ = ["Answer", "Transport", "TransportError"]

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 600.0
_ERRORS = (OSError, http.client.HTTPException)
_CONNECT_ERRORS = (*_ERRORS, UnicodeError)


class TransportError(Exception):
    """The connection could not be made (`unsent`: nothing has reached the server), or broke."""

    def __init__(self, reason: str, *, unsent: bool = False) -> None:
        super().__init__(reason)
        self.unsent = unsent


class Answer:
    """A status, headers, and a body still to be read. Must be closed."""

    def __init__(self, response: http.client.HTTPResponse, done: Callable[[bool], None]) -> None:
        self._response = response
        self._done: Callable[[bool], None] | None = done
        self.status = response.status

    def header(self, name: str) -> str:
        """Returns a header's value, empty without one."""
        return self._response.headers.get(name, "")

    @property
    def size(self) -> int | None:
        """How many bytes of the body are still to come, if that is known."""
        return self._response.length

    def read(self) -> bytes:
        """Returns the whole body; raises TransportError if it ends early."""
        try:
            return self._response.read()
        except _ERRORS as error:
            raise _broken(error) from error

    def chunks(self, size: int) -> Iterator[bytes]:
        """Yields the body in pieces of at most `size` bytes; raises TransportError if it ends
        early.
        """
        try:
            while chunk := self._response.read(size):
                yield chunk
        except _ERRORS as error:
            raise _broken(error) from error
        if self._response.length:
            raise TransportError(f"{self._response.length} bytes are missing at the end")

    def close(self) -> None:
        """Gives the connection back; one whose body was not read to its end is closed."""
        if self._done is not None:
            self._done(self._response.isclosed() and not self._response.will_close)
            self._done = None
        self._response.close()


class Transport:
    """Connections to one server. May be used from several threads."""

    def __init__(self, server: str, environment: Mapping[str, str]) -> None:
        self._url = urlsplit(server)
        self.path = self._url.path.rstrip("/")
        self._address = (self._url.hostname or "", self._url.port)
        self._proxy = _proxy(self._url, environment)
        self._context = ssl.create_default_context() if self._url.scheme == "https" else None
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = Lock()

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()

    def send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] | None = None,
    ) -> Answer:
        """Returns the answer to a request; `target` is the path and query, encoded. A body of
        several pieces is sent in HTTP's chunks unless a header tells its length. Raises
        TransportError.
        """
        connection = self._connection()
        if self._proxy and self._context is None:
            target = f"{self._url.scheme}://{self._url.netloc}{target}"
            headers = {**headers, **_proxy_headers(self._proxy)}
        try:
            try:
                connection.request(method, target, body, dict(headers))
            except (BrokenPipeError, ConnectionResetError):
                # a server may refuse a body before it has come: then its answer is waiting
                answer = connection.getresponse()
                answer.will_close = True
            else:
                answer = connection.getresponse()
        except _ERRORS as error:
            connection.close()
            raise _broken(error) from error
        except BaseException:
            connection.close()
            raise

        def done(reusable: bool) -> None:
            if reusable:
                with self._lock:
                    self._idle.append(connection)
            else:
                connection.close()

        return Answer(answer, done)

    def _connection(self) -> http.client.HTTPConnection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect()
            if _is_open(connection.sock):
                return connection
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._address
        if self._proxy:
            host, port = self._proxy.hostname or "", self._proxy.port
        try:
            connection = self._new_connection(host, port)
            connection.connect()
            connection.sock.settimeout(_ANSWER_SECONDS)
        except _CONNECT_ERRORS as error:
            raise TransportError(_reason(error), unsent=True) from error
        return connection

    def _new_connection(self, host: str, port: int | None) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
        connection = http.client.HTTPSConnection(
            host, port, timeout=_CONNECT_SECONDS, context=self._context
        )
        if self._proxy:
            connection.set_tunnel(*self._address, headers=_proxy_headers(self._proxy))
        return connection


def _is_open(sock: socket.socket) -> bool:
    """Whether an idle connection can be used: one that has something to read has been closed by
    the server.
    """
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return not poll.poll(0)


def _broken(error: Exception) -> TransportError:
    return TransportError(_reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _proxy(url: SplitResult, environment: Mapping[str, str]) -> SplitResult | None:
    """Returns the proxy that the environment names for an address, if any."""
    names = (f"{url.scheme}_proxy", f"{url.scheme}_proxy".upper(), "all_proxy", "ALL_PROXY")
    found = next((environment[name] for name in names if environment.get(name)), "")
    excluded = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if not found or _is_excluded(url.hostname or "", excluded):
        return None
    return urlsplit(found if "://" in found else f"http://{found}")


def _is_excluded(host: str, excluded: str) -> bool:
    """Whether a list like `.example.com,127.0.0.1` or `*` names the host or a domain above it."""
    names = [name.strip().lstrip(".").lower() for name in excluded.split(",")]
    return any(name == "*" or (name and f".{host}".endswith(f".{name}")) for name in names)


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
