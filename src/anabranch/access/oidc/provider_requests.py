"""Requests to a provider, bounded in time, in size and in number.

A request runs in a thread of its own, and its caller waits for it no longer than the time limit,
whatever the provider does: a name that is not resolved, a TLS handshake or a body that arrives byte
by byte. At most `MAX_REQUESTS` run at once, so that a slow provider never holds all threads of the
server.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from anabranch.access.oidc.login_errors import bad_response, unavailable
from anabranch.client.transport import Transport, TransportError
from anabranch.errors import AnabranchError, Busy

__all__ = ["MAX_REQUESTS", "ProviderRequests", "ProviderResponse", "decode"]

MAX_REQUESTS = 16
MAX_RESPONSE_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 14
_FORM = "application/x-www-form-urlencoded"

T = TypeVar("T")


class ProviderResponse(NamedTuple):
    """A status and a whole body."""

    status: int
    body: bytes


class ProviderRequests:
    """Sends requests; `timeout` is the time limit of each, in seconds. Thread-safe."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._slots = threading.BoundedSemaphore(MAX_REQUESTS)

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> ProviderResponse:
        """Returns the response to a GET request. Raises Busy if the provider cannot be reached, is
        too slow or sends too much, or if there are too many requests.
        """
        return self._send("GET", url, headers or {}, None)

    def post_form(
        self, url: str, fields: Mapping[str, str], headers: Mapping[str, str]
    ) -> ProviderResponse:
        """Returns the response to a POST request with a form. Raises Busy as `get` does."""
        body = urlencode(fields).encode()
        return self._send("POST", url, {"Content-Type": _FORM, **headers}, body)

    def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> ProviderResponse:
        if not self._slots.acquire(blocking=False):
            raise Busy("too many logins at once", kind="too_many_logins")
        results: list[ProviderResponse | AnabranchError] = []

        def run() -> None:
            try:
                results.append(self._exchange(method, url, headers, body))
            except AnabranchError as error:
                results.append(error)
            except Exception as error:  # noqa: BLE001  reported to the caller, who waits for it
                results.append(bad_response(type(error).__name__))
            finally:
                self._slots.release()

        thread = threading.Thread(target=run, name="oidc-request", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._slots.release()
            raise Busy("no thread is free", kind="too_many_logins") from None
        thread.join(self._timeout)
        if not results:
            raise self._too_slow()
        result = results[0]
        if isinstance(result, AnabranchError):
            raise result
        return result

    def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> ProviderResponse:
        parts = urlsplit(url)
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        transport = Transport(url, os.environ, keep_alive=False)
        try:
            with transport.send(
                method,
                target,
                {"Accept": "application/json", **headers},
                body,
                timeout=self._timeout,
                connect_timeout=self._timeout,
            ) as response:
                content = bytearray()
                for chunk in response.chunks(_CHUNK_BYTES):
                    content += chunk
                    if len(content) > MAX_RESPONSE_BYTES:
                        raise bad_response(f"it is longer than {MAX_RESPONSE_BYTES} bytes")
                return ProviderResponse(response.status, bytes(content))
        except TransportError as error:
            # the connection's own timeout may end before the caller's wait for this thread
            if isinstance(error.__cause__, TimeoutError):
                raise self._too_slow() from error
            raise unavailable(str(error)) from error

    def _too_slow(self) -> AnabranchError:
        return unavailable(f"no response within {self._timeout:g} seconds")


def decode(body: bytes, decoder: msgspec.json.Decoder[T], noun: str) -> T:
    """Returns a JSON document; raises Busy if it is none of the decoder's type."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise bad_response(f"its {noun} cannot be read") from None
