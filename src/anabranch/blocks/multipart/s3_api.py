"""Multipart uploads by S3's own API, which Google Cloud Storage has as well.

The store holds all state, and the upload id is its own. A completion requires that the block does
not exist (`If-None-Match`), so exactly one of several concurrent ones wins. The block's ETag, which
S3 computes from those of the parts, tells which.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.errors import error_from_response, gone_error, range_missing
from anabranch.blocks.cloud.http_pool import HttpResponse
from anabranch.blocks.cloud.signed_requests import SigningClient, error_code, require_status
from anabranch.blocks.cloud.xml_responses import read_parts, read_text
from anabranch.blocks.multipart.errors import part_not_found, upload_not_found, wrong_md5
from anabranch.blocks.multipart.spooled_body import spool_to_file
from anabranch.errors import Invalid
from anabranch.model.uploads.part import Part, multipart_checksum
from anabranch.signing.encoding import encode_key

__all__ = ["S3Uploads"]

_OK, _NO_CONTENT, _NOT_FOUND, _NOT_IMPLEMENTED = 200, 204, 404, 501
_NO_UPLOAD = frozenset({"NoSuchUpload", "InvalidArgument", "XMinioInvalidResourceName"})
_TAKEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "NoSuchUpload"})
_WRONG_PARTS = frozenset({"InvalidPart", "InvalidPartOrder"})


class S3Uploads:
    """A `MultipartClient` that sends `requests`. `clock` gives seconds since 1970."""

    def __init__(self, requests: SigningClient, *, clock: Callable[[], float] = time.time) -> None:
        self._requests = requests
        self._clock = clock

    def hides(self, key: str) -> bool:  # noqa: ARG002  the protocol
        """Returns False: parts are not objects."""
        return False

    def open(self, location: Location, storage_class: str = "") -> str:
        """Opens an upload and returns its id."""
        headers = {"Content-Type": "application/octet-stream"}
        if storage_class:
            headers["x-amz-storage-class"] = storage_class
        response = self._requests.send("POST", location, query={"uploads": ""}, headers=headers)
        require_status(response, location, _OK)
        return read_text(response.body, "InitiateMultipartUploadResult", "UploadId")

    def put(
        self,
        location: Location,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        md5: str | None,
    ) -> Part:
        """Stores the chunks as a part. Raises NotFound, and Invalid if the hex `md5` differs."""
        query = _part(number, upload_id)
        with spool_to_file(chunks) as body:
            if md5 not in {None, body.md5}:
                raise wrong_md5(location.address, number)
            headers = {"Content-MD5": base64.b64encode(bytes.fromhex(body.md5)).decode()}
            response = self._requests.send(
                "PUT", location, query=query, headers=headers, body=body.file, length=body.size
            )
            self._require_ok(response, location)
            etag = response.headers.get("etag", "").strip('"') or body.md5
            return Part(number, body.size, etag, int(self._clock()))

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores a range of another block as a part. Raises Gone and NotFound."""
        query = _part(number, upload_id)
        head = self._requests.send("HEAD", source)
        if head.status == _NOT_FOUND:
            raise gone_error(source.address)
        require_status(head, source, _OK)
        size = int(head.headers.get("content-length", 0))
        copied = size - start if length is None else length
        if start < 0 or copied < 0 or start + copied > size:
            raise range_missing(source.address, size)
        if copied == 0:  # a range of S3's cannot be empty
            return self.put(location, upload_id, number, [], None)
        headers = {
            "x-amz-copy-source": f"{source.bucket}/{encode_key(source.key)}",
            "x-amz-copy-source-range": f"bytes={start}-{start + copied - 1}",
        }
        response = self._requests.send("PUT", location, query=query, headers=headers)
        if error_code(response) == "NoSuchKey":
            raise gone_error(source.address)
        self._require_ok(response, location)
        etag = read_text(response.body, "CopyPartResult", "ETag").strip('"')
        return Part(number, copied, etag, int(self._clock()))

    def parts(self, location: Location, upload_id: str) -> list[Part]:
        """Returns the stored parts, by number. Raises NotFound."""
        query = {"uploadId": _require_id(upload_id)}
        stored: list[Part] = []
        while True:
            response = self._requests.send("GET", location, query=dict(sorted(query.items())))
            self._require_ok(response, location)
            page = read_parts(response.body)
            stored += page.parts
            if not page.next_marker:
                return sorted(stored, key=lambda part: part.number)
            query["part-number-marker"] = page.next_marker

    def complete(
        self,
        location: Location,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
        *,
        replaces: bool = False,
    ) -> int:
        """Joins parts to a block and returns its size in bytes. Unless it `replaces` an existing
        block, that one makes it raise NotFound.
        """
        checksum = multipart_checksum([part[1] for part in parts])
        condition = {} if replaces else {"If-None-Match": "*"}
        response = self._request_completion(location, upload_id, parts, condition)
        if response.status == _NOT_IMPLEMENTED:
            response = self._request_completion(location, upload_id, parts, {})
        code = error_code(response)
        block = self._requests.send("HEAD", location)
        if code in _TAKEN:
            if block.status != _OK or block.headers.get("etag", "").strip('"') != checksum:
                raise upload_not_found()
        else:
            self._require_completed(response, location, upload_id, parts)
        require_status(block, location, _OK)
        return int(block.headers.get("content-length", 0))

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; an unknown one is ignored."""
        if not upload_id:
            return
        response = self._requests.send("DELETE", location, query={"uploadId": upload_id})
        if error_code(response) not in _NO_UPLOAD:
            require_status(response, location, _NO_CONTENT, _OK)

    def _request_completion(
        self,
        location: Location,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
        headers: Mapping[str, str],
    ) -> HttpResponse:
        document = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{etag}&quot;</ETag></Part>"
            for number, etag in parts
        )
        body = f"<CompleteMultipartUpload>{document}</CompleteMultipartUpload>".encode()
        all_headers = {"Content-Type": "application/xml", **headers}
        query = {"uploadId": _require_id(upload_id)}
        return self._requests.send("POST", location, query=query, headers=all_headers, body=body)

    def _require_completed(
        self,
        response: HttpResponse,
        location: Location,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
    ) -> None:
        """Raises the corresponding error unless the completion succeeded."""
        code = error_code(response)
        if code in _WRONG_PARTS:
            raise self._wrong_part(location, upload_id, parts)
        if code == "EntityTooSmall":
            raise Invalid(
                f"{location.address}: every part but the last must have at least 5 MiB",
                kind="part_too_small",
            )
        self._require_ok(response, location)

    def _require_ok(self, response: HttpResponse, location: Location) -> None:
        """Raises the corresponding error unless a request succeeded. Stores reject malformed ids
        with codes other than that of an unknown upload.
        """
        if error_code(response) in _NO_UPLOAD:
            raise upload_not_found()
        if error_code(response) in {"BadDigest", "InvalidDigest"}:
            # damaged on the way: it was right when it was sent
            raise error_from_response(location.address, 500, error_code(response))
        require_status(response, location, _OK)

    def _wrong_part(
        self, location: Location, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Invalid:
        stored = {part.number: part.checksum for part in self.parts(location, upload_id)}
        wrong = [number for number, checksum in parts if stored.get(number) != checksum]
        return part_not_found(location.address, wrong[0] if wrong else parts[0][0])


def _part(number: int, upload_id: str) -> dict[str, str]:
    return {"partNumber": str(number), "uploadId": _require_id(upload_id)}


def _require_id(upload_id: str) -> str:
    """Returns the id. Raises NotFound for an empty one, which would change what a request means."""
    if not upload_id:
        raise upload_not_found()
    return upload_id
