"""Blocks in S3 by requests of our own: any key, listings by any prefix, copies between buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anabranch.blocks.http_pool import HttpAnswer
from anabranch.blocks.object_addresses import Location
from anabranch.blocks.object_errors import gone, too_short
from anabranch.blocks.objects import Listed
from anabranch.blocks.s3_answers import http_seconds, read_listing
from anabranch.blocks.s3_requests import S3Requests
from anabranch.blocks.s3_uploads import S3Uploads
from anabranch.blocks.signed_requests import code_of, expect
from anabranch.signing.encoding import encode_key

__all__ = ["S3Objects"]

_WINDOW_BYTES = 8 << 20
_PART_BYTES = 8 << 20
_COPY_AT_ONCE_BYTES = 512 << 20
_COPY_PART_BYTES = 256 << 20

_OK, _NO_CONTENT, _PARTIAL, _NOT_FOUND, _UNSATISFIABLE = 200, 204, 206, 404, 416


class S3Objects:
    """Reads and writes whole blocks. Raises as `refusal` tells."""

    def __init__(self, requests: S3Requests, uploads: S3Uploads) -> None:
        self._requests = requests
        self._uploads = uploads

    def put(self, location: Location, body: bytes, *, create: bool) -> None:
        """Stores a body. Raises AlreadyExists with `create` where there is one already."""
        headers = {"Content-Type": "application/octet-stream"}
        if create:
            headers["If-None-Match"] = "*"
        # what was sent twice may have been stored the first time, and then exist already
        answer = self._requests.send("PUT", location, headers=headers, body=body, once=create)
        expect(answer, location, _OK)

    def put_large(self, location: Location, chunks: Iterator[bytes]) -> None:
        """Stores the chunks in parts; nothing stays when `chunks` raises."""
        upload = self._uploads.open(location)
        try:
            parts = [
                (number, self._uploads.put(location, upload, number, [body], None).checksum)
                for number, body in enumerate(_in_parts(chunks), 1)
            ]
            self._uploads.complete(location, upload, parts, replaces=True)
        except BaseException:
            self._uploads.abort(location, upload)
            raise

    def open(self, location: Location, start: int, end: int | None) -> Iterator[bytes]:
        """Yields the bytes from `start` to before `end`, or all from there. Raises Gone at once."""
        if end == start:
            return self._nothing(location, start)
        last = start + _WINDOW_BYTES if end is None else min(start + _WINDOW_BYTES, end)
        answer = self._window(location, start, last)
        if answer.status == _UNSATISFIABLE:
            return self._nothing(location, start if end is None else end)
        size = _size_of(answer)
        if end is not None and end > size:
            raise too_short(location.address, size)
        return self._windows(location, answer.body, start, size if end is None else end)

    def head(self, location: Location) -> Listed | None:
        """Returns what is there, or None."""
        answer = self._requests.send("HEAD", location)
        if answer.status == _NOT_FOUND:
            return None
        expect(answer, location, _OK)
        headers = answer.headers
        mtime = http_seconds(headers.get("last-modified", ""))
        etag = headers.get("etag", "").strip('"')
        return Listed(location.key, int(headers.get("content-length", 0)), mtime, etag)

    def delete(self, locations: Sequence[Location]) -> None:
        """Removes blocks; those that are not there are passed over."""
        for location in locations:
            answer = self._requests.send("DELETE", location)
            if answer.status != _NOT_FOUND or code_of(answer) == "NoSuchBucket":
                expect(answer, location, _NO_CONTENT, _OK)

    def copy(self, source: Location, destination: Location) -> int:
        """Copies a block within the store and returns its size in bytes. Raises Gone."""
        size = self._size(source)
        if size > _COPY_AT_ONCE_BYTES:
            self._copy_in_parts(source, destination, size)
            return size
        headers = {"x-amz-copy-source": f"{source.bucket}/{encode_key(source.key)}"}
        answer = self._requests.send("PUT", destination, headers=headers)
        if code_of(answer) == "NoSuchKey":
            raise gone(source.address)
        expect(answer, destination, _OK)
        return size

    def list(self, location: Location, after: str) -> Iterator[Listed]:
        """Yields the keys that begin as the location's does, after the key `after`, in the order
        of their bytes.
        """
        bucket = location._replace(key="")
        query = {"encoding-type": "url", "list-type": "2", "prefix": location.key}
        if after:
            query["start-after"] = after
        while True:
            answer = self._requests.send("GET", bucket, query=dict(sorted(query.items())))
            expect(answer, location, _OK)
            page = read_listing(answer.body)
            yield from page.found
            if not page.more:
                return
            query["continuation-token"] = page.more
            query.pop("start-after", None)

    def _size(self, location: Location) -> int:
        found = self.head(location)
        if found is None:
            raise gone(location.address)
        return found.size

    def _nothing(self, location: Location, at: int) -> Iterator[bytes]:
        """Returns no bytes, if the block reaches to there. Raises Gone."""
        size = self._size(location)
        if at > size:
            raise too_short(location.address, size)
        return iter(())

    def _windows(self, location: Location, first: bytes, start: int, end: int) -> Iterator[bytes]:
        yield first
        for at in range(start + len(first), end, _WINDOW_BYTES):
            answer = self._window(location, at, min(at + _WINDOW_BYTES, end))
            if answer.status == _UNSATISFIABLE:
                raise gone(location.address)
            yield answer.body

    def _window(self, location: Location, start: int, end: int) -> HttpAnswer:
        headers = {"Range": f"bytes={start}-{end - 1}"}
        answer = self._requests.send("GET", location, headers=headers)
        if answer.status != _UNSATISFIABLE:
            expect(answer, location, _PARTIAL)
        return answer

    def _copy_in_parts(self, source: Location, destination: Location, size: int) -> None:
        upload = self._uploads.open(destination)
        try:
            parts = []
            for number, at in enumerate(range(0, size, _COPY_PART_BYTES), 1):
                length = min(_COPY_PART_BYTES, size - at)
                part = self._uploads.copy(destination, upload, number, source, at, length)
                parts.append((number, part.checksum))
            self._uploads.complete(destination, upload, parts, replaces=True)
        except BaseException:
            self._uploads.abort(destination, upload)
            raise


def _size_of(answer: HttpAnswer) -> int:
    """Returns the size of the block of which an answer is a part, in bytes."""
    return int(answer.headers["content-range"].rpartition("/")[2])


def _in_parts(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields chunks joined to parts, of 8 MiB at first and of twice as much after each 1,000, so
    that 10,000 of them hold more than a block may.
    """
    held: list[bytes] = []
    size, number = 0, 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _PART_BYTES << number // 1_000:
            yield b"".join(held)
            held, size, number = [], 0, number + 1
    if held or number == 0:
        yield b"".join(held)
