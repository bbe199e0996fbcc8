"""Multipart uploads to Google Cloud Storage: S3's API, without conditional completion.

A completion replaces an existing object, and the ETag of the object does not depend on those of its
parts. Therefore the checksum of a completion is stored first, in a folder that listings leave out.
Creating it is conditional, so exactly one of several concurrent completions wins:

    FOLDER/.anabranch-uploads/DIGEST OF UPLOAD/whole

[Google, "XML API multipart uploads": preconditions are not supported]
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.client import ObjectClient
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.signed_requests import SignedRequest, SigningClient
from anabranch.blocks.gcs.endpoint import GcsEndpoint
from anabranch.blocks.multipart.copy_source import read_copy_source
from anabranch.blocks.multipart.errors import part_not_found, upload_not_found
from anabranch.blocks.multipart.s3_api import S3Uploads
from anabranch.blocks.multipart.upload_folder import is_upload_key, upload_location
from anabranch.errors import AlreadyExists, Gone, NotFound
from anabranch.model.uploads.part import Part, multipart_checksum

__all__ = ["GcsUploads"]

_REQUEST_LIFETIME = 3600


class GcsUploads(S3Uploads):
    """A `MultipartClient` that signs requests and stores its own state by `objects`."""

    def __init__(
        self,
        access: GcsEndpoint,
        objects: ObjectClient,
        retry_policy: RetryPolicy,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(SigningClient(_signing(access), retry_policy), clock=clock)
        self._objects = objects

    def hides(self, key: str) -> bool:
        """Returns whether a key belongs to an upload, so that listings must leave it out."""
        return is_upload_key(key)

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores a range of another block as a part, through this process: Google cannot copy
        parts.
        """
        self.parts(location, upload_id)
        chunks = read_copy_source(self._objects, source, start, length)
        return self.put(location, upload_id, number, chunks, None)

    def complete(
        self,
        location: Location,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
        *,
        replaces: bool = False,  # noqa: ARG002  used for S3 alone
    ) -> int:
        """Joins parts to a block and returns its size in bytes. Raises NotFound and Invalid."""
        checksum = multipart_checksum([part[1] for part in parts])
        claim = _claim_location(location, upload_id)
        try:
            stored = {part.number: part for part in self.parts(location, upload_id)}
        except NotFound:
            return self._completed_size(location, claim, checksum)
        for number, part_checksum in parts:
            if number not in stored or stored[number].checksum != part_checksum:
                raise part_not_found(location.address, number)
        try:
            self._objects.put(claim, checksum.encode(), if_absent=True)
        except AlreadyExists:
            if self._claimed_checksum(claim) != checksum:
                raise upload_not_found() from None
        try:
            response = self._request_completion(location, upload_id, parts, {})
            self._require_completed(response, location, upload_id, parts)
        except NotFound:
            return self._completed_size(location, claim, checksum)
        return sum(stored[number].size for number, _ in parts)

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; an unknown one is ignored."""
        if upload_id:
            super().abort(location, upload_id)
            self._objects.delete([_claim_location(location, upload_id)])

    def _completed_size(self, location: Location, claim: Location, checksum: str) -> int:
        """Returns the size of the block. Raises NotFound unless it was completed with these
        parts.
        """
        is_claimed = self._claimed_checksum(claim) == checksum
        block = self._objects.head(location) if is_claimed else None
        if block is None:
            raise upload_not_found()
        return block.size

    def _claimed_checksum(self, claim: Location) -> str:
        try:
            return b"".join(self._objects.open(claim, 0, None)).decode()
        except Gone:
            return ""


def _signing(access: GcsEndpoint) -> Callable[..., SignedRequest]:
    def sign(
        method: str, location: Location, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> SignedRequest:
        return SignedRequest(access.presigned(method, location, query, _REQUEST_LIFETIME), headers)

    return sign


def _claim_location(location: Location, upload_id: str) -> Location:
    digest = hashlib.sha256(upload_id.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return upload_location(location, digest, "whole")
