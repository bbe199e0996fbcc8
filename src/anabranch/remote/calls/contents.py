"""Reads of many objects by one request, whose response is read as it arrives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anabranch.client.rest_client import CHUNK, RestClient
from anabranch.client.transport import TransportError
from anabranch.errors import AnabranchError, Busy, Gone, Invalid, NotFound, OutcomeUnknown
from anabranch.model.objects.batch import (
    FRAME_HEADER,
    MAX_BATCH_BYTES,
    MAX_BATCH_OBJECTS,
    FrameState,
)
from anabranch.remote.call import change
from anabranch.remote.calls.open_object import Open

__all__ = ["Frame", "ReadMany", "read_frames"]

_ATTEMPTS = 5
_OF_ONE_PATH = {"batch_too_large", "invalid_path", "missing_path"}
"""Kinds of errors of a request that fewer paths may not have."""


class Frame(NamedTuple):
    """An object of a response: its bytes, if it has the state for that."""

    state: int
    content: bytes

    def result(self, path: str) -> bytes | AnabranchError:
        """Returns the bytes, or the error in place of them."""
        if self.state == FrameState.CONTENT:
            return self.content
        if self.state == FrameState.NOT_FOUND:
            return NotFound("not found", kind="object_not_found", hint=f"No object at {path!r}.")
        return Gone(f"the bytes of {path!r} are lost or damaged")


@dataclass(frozen=True, slots=True)
class ReadMany:
    """Reads the objects at paths of a reference, `segments`, by as few requests as their sizes
    permit.
    """

    segments: tuple[str, ...]
    paths: Sequence[str]

    def run(self, client: RestClient) -> list[bytes | AnabranchError]:
        """Returns the contents, in order, or the error in place of one. Raises NotFound for the
        reference, Denied if one of the paths may not be read.
        """
        found: list[bytes | AnabranchError] = []
        amount = MAX_BATCH_OBJECTS
        while len(found) < len(self.paths):
            some = self.paths[len(found) : len(found) + amount]
            try:
                frames = self._frames(client, some)
            except Invalid as error:
                if error.kind not in _OF_ONE_PATH:
                    raise
                if len(some) == 1:
                    found.append(self._alone(client, some[0], error))
                amount = max(1, len(some) // 2)
                continue
            found += [frame.result(path) for frame, path in zip(frames, some, strict=True)]
            amount = min(2 * amount, MAX_BATCH_OBJECTS)
        return found

    def _frames(self, client: RestClient, paths: Sequence[str]) -> list[Frame]:
        """Returns objects as they are at one moment: a response that breaks off is begun anew,
        since the reference may move before the next one.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return [*_read_once(client, self.segments, paths)]
            except TransportError as error:
                if attempt == _ATTEMPTS:
                    raise Busy(f"{client.url}: {error}") from error
        raise AssertionError  # the last attempt returns or raises

    def _alone(self, client: RestClient, path: str, error: Invalid) -> bytes | AnabranchError:
        if error.kind != "batch_too_large":
            return error
        try:
            return Open(self.segments, path).run(client).read_bytes()
        except AnabranchError as failed:
            return failed


def read_frames(
    client: RestClient, segments: Sequence[str], paths: Sequence[str]
) -> Iterator[Frame]:
    """Yields the objects at paths of a commit, in order. A response that breaks off is continued by
    another request. Raises Busy for a server that cannot be reached.
    """
    done, attempt = 0, 1
    while done < len(paths):
        try:
            for frame in _read_once(client, segments, paths[done:]):
                yield frame
                done += 1
                attempt = 1
        except TransportError as error:
            if attempt == _ATTEMPTS:
                raise Busy(f"{client.url}: {error}") from error
            attempt += 1


def _read_once(
    client: RestClient, segments: Sequence[str], paths: Sequence[str]
) -> Iterator[Frame]:
    """Yields the objects at paths of a reference, in order, by one request. Raises TransportError
    if the response breaks off, and Busy for a server that cannot be reached.
    """
    request = change("POST", [*segments, "contents"], {"paths": list(paths)}, repeatable=True)
    try:
        response = client.exchange(request)
    except OutcomeUnknown as error:  # it reads, so nothing can have happened
        raise Busy(error.message) from error
    with response:
        done = 0
        for frame in _frames(response.chunks(CHUNK), len(paths)):
            yield frame
            done += 1
    if done < len(paths):
        raise client.content_error(request, response.status)


def _frames(chunks: Iterator[bytes], count: int) -> Iterator[Frame]:
    """Yields `count` frames, fewer if the body ends before or claims more than a response has."""
    buffer, start = bytearray(), 0

    def fill(size: int) -> bool:
        nonlocal start
        if len(buffer) - start < size:
            del buffer[:start]
            start = 0
        while len(buffer) < start + size:
            chunk = next(chunks, None)
            if chunk is None:
                return False
            buffer.extend(chunk)
        return True

    for _ in range(count):
        if not fill(FRAME_HEADER.size):
            return
        state, length = FRAME_HEADER.unpack_from(buffer, start)
        start += FRAME_HEADER.size
        if length > MAX_BATCH_BYTES or not fill(length):
            return
        with memoryview(buffer) as view:
            content = bytes(view[start : start + length])
        yield Frame(state, content)
        start += length
