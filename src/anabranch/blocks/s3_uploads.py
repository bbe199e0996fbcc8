"""Uploads in parts, as S3 itself has them: the store keeps everything, and the id is its own.

An upload that a client completes is so only where no block is yet (`If-None-Match`), so of lists
that race exactly one wins; who won is seen by the block's ETag, which S3 makes of those of the
parts.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from anabranch.blocks.http_pool import HttpAnswer
from anabranch.blocks.object_addresses import Location
from anabranch.blocks.object_errors import gone, refusal, too_short
from anabranch.blocks.s3_answers import read_parts, read_text
from anabranch.blocks.signed_requests import SignedRequests, code_of, expect
from anabranch.blocks.spooled import spooled
from anabranch.blocks.upload_errors import part_not_found, upload_not_found, wrong_md5
from anabranch.errors import Invalid
from anabranch.model.part import Part, checksum_of_parts
from anabranch.signing.encoding import encode_key

__all__ = ["S3Uploads"]

_OK, _NO_CONTENT, _NOT_FOUND, _NOT_IMPLEMENTED = 200, 204, 404, 501
_NO_UPLOAD = frozenset({"NoSuchUpload", "InvalidArgument", "XMinioInvalidResourceName"})
_TAKEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "NoSuchUpload"})
_WRONG_PARTS = frozenset({"InvalidPart", "InvalidPartOrder"})


class S3Uploads:
    """The uploads of a store. `clock` gives seconds since 1970."""

    def __init__(self, requests: SignedRequests, *, clock: Callable[[], float] = time.time) -> None:
        self._requests = requests
        self._clock = clock

    def hides(self, key: str) -> bool:  # noqa: ARG002  the protocol
        """Returns False: parts are no keys."""
        return False

    def open(self, location: Location) -> str:
        """Returns the id of a new upload."""
        headers = {"Content-Type": "application/octet-stream"}
        answer = self._requests.send("POST", location, query={"uploads": ""}, headers=headers)
        expect(answer, location, _OK)
        return read_text(answer.body, "InitiateMultipartUploadResult", "UploadId")

    def put(
        self,
        location: Location,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        md5: str | None,
    ) -> Part:
        """Stores the chunks as a part."""
        query = _part(number, upload_id)
        with spooled(chunks) as held:
            if md5 not in {None, held.md5}:
                raise wrong_md5(location.address, number)
            headers = {"Content-MD5": base64.b64encode(bytes.fromhex(held.md5)).decode()}
            answer = self._requests.send(
                "PUT", location, query=query, headers=headers, body=held.file, length=held.size
            )
            self._expect(answer, location)
            etag = answer.headers.get("etag", "").strip('"') or held.md5
            return Part(number, held.size, etag, int(self._clock()))

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores bytes of another block as a part."""
        query = _part(number, upload_id)
        head = self._requests.send("HEAD", source)
        if head.status == _NOT_FOUND:
            raise gone(source.address)
        expect(head, source, _OK)
        size = int(head.headers.get("content-length", 0))
        wanted = size - start if length is None else length
        if start < 0 or wanted < 0 or start + wanted > size:
            raise too_short(source.address, size)
        if wanted == 0:  # which no range of S3's can say
            return self.put(location, upload_id, number, [], None)
        headers = {
            "x-amz-copy-source": f"{source.bucket}/{encode_key(source.key)}",
            "x-amz-copy-source-range": f"bytes={start}-{start + wanted - 1}",
        }
        answer = self._requests.send("PUT", location, query=query, headers=headers)
        if code_of(answer) == "NoSuchKey":
            raise gone(source.address)
        self._expect(answer, location)
        etag = read_text(answer.body, "CopyPartResult", "ETag").strip('"')
        return Part(number, wanted, etag, int(self._clock()))

    def parts(self, location: Location, upload_id: str) -> list[Part]:
        """Returns the parts that are there, by number."""
        query = {"uploadId": _known(upload_id)}
        found: list[Part] = []
        while True:
            answer = self._requests.send("GET", location, query=dict(sorted(query.items())))
            self._expect(answer, location)
            page = read_parts(answer.body)
            found += page.parts
            if not page.more:
                return sorted(found, key=lambda part: part.number)
            query["part-number-marker"] = page.more

    def complete(
        self,
        location: Location,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
        *,
        replaces: bool = False,
    ) -> int:
        """Makes a block of parts, which `replaces` one that is there or is refused, and returns its
        size in bytes.
        """
        checksum = checksum_of_parts([part[1] for part in parts])
        condition = {} if replaces else {"If-None-Match": "*"}
        answer = self._ask_completion(location, upload_id, parts, condition)
        if answer.status == _NOT_IMPLEMENTED:
            answer = self._ask_completion(location, upload_id, parts, {})
        code = code_of(answer)
        there = self._requests.send("HEAD", location)
        if code in _TAKEN:
            if there.status != _OK or there.headers.get("etag", "").strip('"') != checksum:
                raise upload_not_found()
        else:
            self._expect_completed(answer, location, upload_id, parts)
        expect(there, location, _OK)
        return int(there.headers.get("content-length", 0))

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; one that is not known is passed over."""
        if not upload_id:
            return
        answer = self._requests.send("DELETE", location, query={"uploadId": upload_id})
        if code_of(answer) not in _NO_UPLOAD:
            expect(answer, location, _NO_CONTENT, _OK)

    def _ask_completion(
        self,
        location: Location,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
        headers: Mapping[str, str],
    ) -> HttpAnswer:
        document = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>&quot;{etag}&quot;</ETag></Part>"
            for number, etag in parts
        )
        body = f"<CompleteMultipartUpload>{document}</CompleteMultipartUpload>".encode()
        sent = {"Content-Type": "application/xml", **headers}
        query = {"uploadId": _known(upload_id)}
        return self._requests.send("POST", location, query=query, headers=sent, body=body)

    def _expect_completed(
        self,
        answer: HttpAnswer,
        location: Location,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
    ) -> None:
        """Raises what another answer to completing means than that it was done."""
        code = code_of(answer)
        if code in _WRONG_PARTS:
            raise self._wrong_part(location, upload_id, parts)
        if code == "EntityTooSmall":
            raise Invalid(
                f"{location.address}: every part but the last must have at least 5 MiB",
                kind="part_too_small",
            )
        self._expect(answer, location)

    def _expect(self, answer: HttpAnswer, location: Location) -> None:
        """Raises what another answer than the one hoped for means. Ids that no upload can have
        are refused in other words.
        """
        if code_of(answer) in _NO_UPLOAD:
            raise upload_not_found()
        if code_of(answer) in {"BadDigest", "InvalidDigest"}:
            raise refusal(location.address, 500, code_of(answer))  # it was right when we sent it
        expect(answer, location, _OK)

    def _wrong_part(
        self, location: Location, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> Invalid:
        held = {part.number: part.checksum for part in self.parts(location, upload_id)}
        wrong = [number for number, checksum in parts if held.get(number) != checksum]
        return part_not_found(location.address, wrong[0] if wrong else parts[0][0])


def _part(number: int, upload_id: str) -> dict[str, str]:
    return {"partNumber": str(number), "uploadId": _known(upload_id)}


def _known(upload_id: str) -> str:
    """Returns an id that may be one; without any, requests would mean something else."""
    if not upload_id:
        raise upload_not_found()
    return upload_id
