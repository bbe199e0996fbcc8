"""Reads of many objects by one request, whose response is read as it arrives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from anabranch.client.rest_client import CHUNK, RestClient
from anabranch.client.transport import TransportError
from anabranch.errors import Busy, Gone, NotFound, OutcomeUnknown
from anabranch.lake.snapshots.source import NamedEntry
from anabranch.model.objects.batch import FRAME_HEADER, MAX_BATCH_OBJECTS, FrameState
from anabranch.remote.call import change

__all__ = ["LARGE", "batches", "read_batch"]

LARGE = 1 << 20
"""Objects of this size and larger are read by a request of their own, in bytes."""

_BATCH_BYTES = 16 << 20
_ATTEMPTS = 5


def batches(objects: Iterable[NamedEntry]) -> Iterator[list[NamedEntry]]:
    """Yields the objects in groups that one request can read; a large one alone."""
    group: list[NamedEntry] = []
    size = 0
    for each in objects:
        is_large = each.entry.size >= LARGE
        is_full = len(group) == MAX_BATCH_OBJECTS or size + each.entry.size > _BATCH_BYTES
        if group and (is_large or is_full):
            yield group
            group, size = [], 0
        if is_large:
            yield [each]
            continue
        group.append(each)
        size += each.entry.size
    if group:
        yield group


def read_batch(
    client: RestClient, repository: str, commit_id: str, objects: Sequence[NamedEntry]
) -> Iterator[bytes]:
    """Yields the bytes of objects, in order. A response that breaks off is continued by another
    request. Raises Gone for bytes that are lost, Busy for a server that cannot be reached.
    """
    segments = ["repositories", repository, "refs", commit_id, "objects", "contents"]
    done, attempt = 0, 1
    while done < len(objects):
        paths = [each.path for each in objects[done:]]
        request = change("POST", segments, {"paths": paths}, repeatable=True)
        try:
            response = client.exchange(request)
        except OutcomeUnknown as error:  # it reads, so nothing can have happened
            raise Busy(error.message) from error
        with response:
            try:
                for state, content in _frames(response.chunks(CHUNK), len(paths)):
                    yield _content(state, content, objects[done])
                    done += 1
                    attempt = 1
            except TransportError as error:
                if attempt == _ATTEMPTS:
                    raise Busy(f"{client.url}: {error}") from error
                attempt += 1
                continue
        if done < len(objects):
            raise client.content_error(request, response.status)


def _content(state: int, content: bytes, named: NamedEntry) -> bytes:
    if state == FrameState.CONTENT and len(content) == named.entry.size:
        return content
    if state == FrameState.NOT_FOUND:
        raise NotFound("not found", kind="object_not_found", hint=f"No object at {named.path!r}.")
    raise Gone(f"the bytes of {named.path!r} are lost or damaged")


def _frames(chunks: Iterator[bytes], count: int) -> Iterator[tuple[int, bytes]]:
    """Yields the state and the content of `count` frames, fewer if the body ends before."""
    buffer, start = b"", 0

    def fill(size: int) -> bool:
        nonlocal buffer, start
        while len(buffer) - start < size:
            chunk = next(chunks, None)
            if chunk is None:
                return False
            buffer = buffer[start:] + chunk
            start = 0
        return True

    for _ in range(count):
        if not fill(FRAME_HEADER.size):
            return
        state, length = FRAME_HEADER.unpack_from(buffer, start)
        start += FRAME_HEADER.size
        if not fill(length):
            return
        yield state, buffer[start : start + length]
        start += length
