"""Reads of bytes that never change: from the server, or from its store by presigned addresses.

A presigned address permits to read one object for some minutes, without credentials. The server
gives it to those who may read the object, and its store delivers the bytes.
"""

from __future__ import annotations

from typing import Any, Protocol

from anabranch.client.rest_client import Request, RestClient
from anabranch.client.transport import Response, TransportError
from anabranch.errors import AnabranchError, Denied, NotSupported

__all__ = ["PresignedReads", "Reads"]

_OK = (200, 206)
_MAX_ADDRESSES = 1_000


class Reads(Protocol):
    """What sends requests for bytes."""

    def exchange(self, request: Request) -> Response:
        """Returns the response with the bytes that a request asks for. Raises AnabranchError."""

    def transport_error(self, request: Request, error: TransportError) -> AnabranchError:
        """Returns the error of a connection that broke."""

    def content_error(self, request: Request, status: int) -> AnabranchError:
        """Returns the error of a response that is not what was asked for."""


class PresignedReads:
    """Reads from the server's store, by addresses that `client` gets from the server: an address is
    used until the store refuses it, as when it has expired, and then renewed. If the store refuses
    the new one as well, or cannot be reached from here, or what answers has another number of bytes
    than the range that was asked for, the server delivers the bytes.

    May be used from several threads, and pickled.
    """

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._addresses: dict[tuple[Any, ...], str] = {}
        self._is_unreachable = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._client,)

    def exchange(self, request: Request) -> Response:
        """Returns the response of the store to a GET that has a range at most, else that of the
        server. Raises what the server raises: Denied for what the user may not read any more.
        """
        key = (request.segments, *request.params.items())
        for _ in range(2):
            if self._is_unreachable:
                break
            known = self._addresses.get(key)
            address = known or self._new_address(key, request)
            if not address:
                break
            try:
                response = self._client.send_elsewhere("GET", address, request.headers)
            except TransportError as error:
                self._is_unreachable = error.unsent
                break
            if response.status in _OK and _is_as_long(response, request):
                return response
            response.close()
            self._addresses.pop(key, None)
            if known is None:
                break
        return self._client.exchange(request)

    def transport_error(self, request: Request, error: TransportError) -> AnabranchError:
        """Returns the error of a connection that broke, as of the server."""
        return self._client.transport_error(request, error)

    def content_error(self, request: Request, status: int) -> AnabranchError:
        """Returns the error of a response that is not what was asked for, as of the server."""
        return self._client.content_error(request, status)

    def _new_address(self, key: tuple[Any, ...], request: Request) -> str:
        """Returns an address that the server has signed now, empty if it signs none."""
        params = {**request.params, "presign": "true"}
        asked = Request("GET", request.segments, params, repeatable=True, redirects=True)
        try:
            response = self._client.exchange(asked)
        except (Denied, NotSupported):  # the server delivers, or says why not
            return ""
        with response:
            address = response.header("location")
        if len(self._addresses) >= _MAX_ADDRESSES:
            self._addresses.clear()
        self._addresses[key] = address
        return address


def _is_as_long(response: Response, request: Request) -> bool:
    """Returns whether a response has as many bytes as the range that a request asks for, if it
    does: a proxy on the way may know no ranges, or answer itself.
    """
    asked = request.headers.get("Range", "").removeprefix("bytes=")
    if not asked:
        return True
    first, _, last = asked.partition("-")
    return response.size == int(last) - int(first) + 1
