"""An object on a server that is open for reading, by requests for ranges of one version.

What is read in order is fetched ahead, in pieces that grow; a response that breaks off is continued
by another request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.client.rest_client import CHUNK, Request
from anabranch.client.transport import TransportError
from anabranch.errors import Gone
from anabranch.lake.object_file import ObjectFile
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.stat import Stat
from anabranch.remote.reads import Reads

__all__ = ["RemoteObject"]

_FIRST_AHEAD = 256 << 10
_MAX_AHEAD = 8 << 20
_ATTEMPTS = 5
_PARTIAL_CONTENT = 206


class RemoteObject(ObjectFile):
    """A version of an object, its properties, and access to its bytes; `request` reads the version,
    whose first bytes are `first`. May be pickled; a copy begins at the start.
    """

    __slots__ = ("_ahead", "_client", "_first", "_request", "_stat")

    def __init__(self, client: Reads, request: Request, stat: Stat, first: bytes) -> None:
        self._client = client
        self._request = request
        self._stat = stat
        self._first = first
        self._ahead = _Ahead()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._client, self._request, self._stat, self._first)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._stat.path!r}, {self.byte_count:,} bytes>"

    @property
    def entry(self) -> Entry:
        """Its size, checksum, time and metadata; the address is the full one."""
        return self._stat.entry

    @property
    def physical_address(self) -> str:
        """The full address of the bytes in the store."""
        return self._stat.physical_address

    @property
    def byte_count(self) -> int:
        """The size of the object."""
        return self._stat.entry.size

    def chunks(self, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields `length` bytes from `start` on, by default all that follow, in chunks of at most
        1 MiB, as they arrive. Raises Gone for bytes that are lost or that the object does not have.
        """
        end = self._end(start, length)
        attempt = 1
        if start < min(end, len(self._first)):
            yield self._first[start:end]
            start = len(self._first)
        while start < end:
            request = self._request._replace(headers={"Range": f"bytes={start}-{end - 1}"})
            response = self._client.exchange(request)
            with response:
                if start and response.status != _PARTIAL_CONTENT:
                    raise self._client.content_error(request, response.status)
                try:
                    for chunk in response.chunks(CHUNK):
                        start += len(chunk)
                        yield chunk
                        attempt = 1
                except TransportError as error:
                    if attempt == _ATTEMPTS:
                        raise self._client.transport_error(request, error) from error
                    attempt += 1
                    continue
            if start < end:
                raise self._gone()

    def read_bytes(self, start: int = 0, length: int | None = None) -> bytes:
        """Returns the bytes that `chunks` yields as one string."""
        end = self._end(start, length)
        if end <= len(self._first):
            return self._first[start:end]
        return b"".join(self.chunks(start, length))

    def _end(self, start: int, length: int | None) -> int:
        end = self.byte_count if length is None else start + length
        if start < 0 or not start <= end <= self.byte_count:
            raise self._gone()
        return end

    def _gone(self) -> Gone:
        return Gone(f"{self.physical_address}: the data ends at byte {self.byte_count}")

    def _read_range(self, start: int, length: int) -> bytes:
        ahead = self._ahead
        kept = ahead.read(start, length)
        if kept:
            return kept
        is_in_order = start in {ahead.end, len(self._first)} and start > 0
        ahead.size = min(2 * ahead.size, _MAX_AHEAD) if is_in_order else _FIRST_AHEAD
        fetched = max(length, ahead.size) if is_in_order else length
        ahead.start = start
        ahead.content = self.read_bytes(start, min(fetched, self.byte_count - start))
        return ahead.content[:length]


class _Ahead:
    """The bytes that were fetched last, and how many to fetch next."""

    __slots__ = ("content", "size", "start")

    def __init__(self) -> None:
        self.content = b""
        self.start = 0
        self.size = _FIRST_AHEAD // 2

    @property
    def end(self) -> int:
        """The position after the bytes."""
        return self.start + len(self.content)

    def read(self, start: int, length: int) -> bytes:
        """Returns bytes from a position, as many as are here, none if it is elsewhere."""
        if not self.start <= start < self.end:
            return b""
        begin = start - self.start
        return self.content[begin : begin + length]
