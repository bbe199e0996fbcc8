"""Client for objects in S3 without obstore: any key, any prefix, copies between buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.client import ObjectInfo
from anabranch.blocks.cloud.errors import gone_error, range_missing
from anabranch.blocks.cloud.http_pool import HttpResponse
from anabranch.blocks.cloud.signed_requests import error_code, require_status
from anabranch.blocks.cloud.xml_responses import read_listing
from anabranch.blocks.multipart.s3_api import S3Uploads
from anabranch.blocks.s3.requests import S3Requests
from anabranch.http.dates import parse_http_date
from anabranch.signing.encoding import encode_key

__all__ = ["S3Client"]

_WINDOW_BYTES = 8 << 20
_PART_BYTES = 8 << 20
_MAX_SINGLE_COPY_BYTES = 512 << 20
_COPY_PART_BYTES = 256 << 20
_MAX_PARTS = 10_000

_OK, _NO_CONTENT, _PARTIAL = 200, 204, 206
_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND, _UNSATISFIABLE = 400, 403, 404, 416


class S3Client:
    """An `ObjectClient`. Raises the errors of `error_from_response`."""

    def __init__(self, requests: S3Requests, uploads: S3Uploads) -> None:
        self._requests = requests
        self._uploads = uploads

    def put(
        self, location: Location, body: bytes, *, if_absent: bool, storage_class: str = ""
    ) -> None:
        """Stores a body. With `if_absent`, raises AlreadyExists if the key exists."""
        headers = {"Content-Type": "application/octet-stream"}
        if storage_class:
            headers["x-amz-storage-class"] = storage_class
        if if_absent:
            headers["If-None-Match"] = "*"
        # the first of two attempts may have stored it, and the second would find it existing
        response = self._requests.send(
            "PUT", location, headers=headers, body=body, retry=not if_absent
        )
        require_status(response, location, _OK)

    def put_large(
        self, location: Location, chunks: Iterator[bytes], *, storage_class: str = ""
    ) -> None:
        """Stores the chunks by a multipart upload. Stores nothing when `chunks` raises."""
        upload = self._uploads.open(location, storage_class)
        try:
            parts = [
                (number, self._uploads.put(location, upload, number, [body], None).checksum)
                for number, body in enumerate(_join_to_parts(chunks), 1)
            ]
            self._uploads.complete(location, upload, parts, replaces=True)
        except BaseException:
            self._uploads.abort(location, upload)
            raise

    def open(self, location: Location, start: int, end: int | None) -> Iterator[bytes]:
        """Yields the bytes from `start` to before `end`, or to the end of the object. Raises Gone
        before the first piece.
        """
        if end == start:
            return self._empty(location, start)
        last = start + _WINDOW_BYTES if end is None else min(start + _WINDOW_BYTES, end)
        response = self._window(location, start, last)
        if response.status == _UNSATISFIABLE:
            return self._empty(location, start if end is None else end)
        size = _total_size(response)
        if end is not None and end > size:
            raise range_missing(location.address, size)
        return self._windows(location, response.body, start, size if end is None else end)

    def head(self, location: Location) -> ObjectInfo | None:
        """Returns the object, or None if it does not exist."""
        response = self._requests.send("HEAD", location)
        if response.status in (_BAD_REQUEST, _FORBIDDEN):
            # has no body with the reason, which may be that other credentials are needed
            self._window(location, 0, 1)
            response = self._requests.send("HEAD", location)
        if response.status == _NOT_FOUND:
            return None
        require_status(response, location, _OK)
        headers = response.headers
        mtime = parse_http_date(headers.get("last-modified", "")) or 0
        etag = headers.get("etag", "").strip('"')
        return ObjectInfo(location.key, int(headers.get("content-length", 0)), mtime, etag)

    def delete(self, locations: Sequence[Location]) -> None:
        """Removes objects; missing ones are ignored."""
        for location in locations:
            response = self._requests.send("DELETE", location)
            if response.status != _NOT_FOUND or error_code(response) == "NoSuchBucket":
                require_status(response, location, _NO_CONTENT, _OK)

    def copy(self, source: Location, destination: Location) -> int:
        """Copies an object within the store and returns its size in bytes. Raises Gone."""
        size = self._size(source)
        if size > _MAX_SINGLE_COPY_BYTES:
            self._copy_join_to_parts(source, destination, size)
            return size
        headers = {"x-amz-copy-source": f"{source.bucket}/{encode_key(source.key)}"}
        response = self._requests.send("PUT", destination, headers=headers)
        if error_code(response) == "NoSuchKey":
            raise gone_error(source.address)
        require_status(response, destination, _OK)
        return size

    def list(self, location: Location, after: str) -> Iterator[ObjectInfo]:
        """Yields the objects whose key starts with the location's, after the key `after`, in order
        of the keys' bytes.
        """
        bucket = location._replace(key="")
        query = {"encoding-type": "url", "list-type": "2", "prefix": location.key}
        if after:
            query["start-after"] = after
        while True:
            response = self._requests.send("GET", bucket, query=dict(sorted(query.items())))
            require_status(response, location, _OK)
            page = read_listing(response.body)
            yield from page.objects
            if not page.next_token:
                return
            query["continuation-token"] = page.next_token
            query.pop("start-after", None)

    def _size(self, location: Location) -> int:
        info = self.head(location)
        if info is None:
            raise gone_error(location.address)
        return info.size

    def _empty(self, location: Location, at: int) -> Iterator[bytes]:
        """Returns an empty iterator. Raises Gone if the object ends before the offset `at`."""
        size = self._size(location)
        if at > size:
            raise range_missing(location.address, size)
        return iter(())

    def _windows(self, location: Location, first: bytes, start: int, end: int) -> Iterator[bytes]:
        yield first
        for at in range(start + len(first), end, _WINDOW_BYTES):
            response = self._window(location, at, min(at + _WINDOW_BYTES, end))
            if response.status == _UNSATISFIABLE:
                raise gone_error(location.address)
            yield response.body

    def _window(self, location: Location, start: int, end: int) -> HttpResponse:
        headers = {"Range": f"bytes={start}-{end - 1}"}
        response = self._requests.send("GET", location, headers=headers)
        if response.status != _UNSATISFIABLE:
            require_status(response, location, _PARTIAL)
        return response

    def _copy_join_to_parts(self, source: Location, destination: Location, size: int) -> None:
        part_bytes = max(_COPY_PART_BYTES, -(-size // _MAX_PARTS))
        upload = self._uploads.open(destination)
        try:
            parts = []
            for number, at in enumerate(range(0, size, part_bytes), 1):
                length = min(part_bytes, size - at)
                part = self._uploads.copy(destination, upload, number, source, at, length)
                parts.append((number, part.checksum))
            self._uploads.complete(destination, upload, parts, replaces=True)
        except BaseException:
            self._uploads.abort(destination, upload)
            raise


def _total_size(response: HttpResponse) -> int:
    """Returns the size in bytes of the object that a response is a range of."""
    return int(response.headers["content-range"].rpartition("/")[2])


def _join_to_parts(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields chunks joined to parts of 8 MiB. Their size doubles after each 1,000 parts, so that
    10,000 parts can hold more than the largest object.
    """
    part: list[bytes] = []
    size, number = 0, 0
    for chunk in chunks:
        part.append(chunk)
        size += len(chunk)
        if size >= _PART_BYTES << number // 1_000:
            yield b"".join(part)
            part, size, number = [], 0, number + 1
    if part or number == 0:
        yield b"".join(part)
