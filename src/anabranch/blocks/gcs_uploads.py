"""Uploads in parts on Google Cloud Storage: S3's, by its XML interface, but for what that lacks.

It completes an upload whatever lies at the address, and its ETags tell nothing of parts. So what
an upload is completed to is written down first, in a folder that listings leave out; of lists that
race the first wins:

    FOLDER/.anabranch-uploads/DIGEST OF UPLOAD/whole

[Google, "XML API multipart uploads": preconditions are not supported]
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence

from anabranch.blocks.gcs_access import GcsAccess
from anabranch.blocks.object_addresses import Location
from anabranch.blocks.objects import Objects
from anabranch.blocks.part_sources import read_source
from anabranch.blocks.patience import Patience
from anabranch.blocks.s3_uploads import S3Uploads
from anabranch.blocks.signed_requests import SignedRequest, SignedRequests
from anabranch.blocks.upload_errors import part_not_found, upload_not_found
from anabranch.blocks.upload_folder import in_upload, is_in_upload
from anabranch.errors import AlreadyExists, Gone, NotFound
from anabranch.model.part import Part, checksum_of_parts

__all__ = ["GcsUploads"]

_SECONDS = 3600


class GcsUploads(S3Uploads):
    """The uploads of a store that signs, whose `objects` are read and written beside them."""

    def __init__(
        self,
        access: GcsAccess,
        objects: Objects,
        patience: Patience,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(SignedRequests(_signing(access), patience), clock=clock)
        self._objects = objects

    def hides(self, key: str) -> bool:
        """Returns whether a key says what an upload was completed to, and is no block's."""
        return is_in_upload(key)

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores bytes of another block as a part. They come by here: Google copies no parts."""
        self.parts(location, upload_id)
        chunks = read_source(self._objects, source, start, length)
        return self.put(location, upload_id, number, chunks, None)

    def complete(
        self,
        location: Location,
        upload_id: str,
        parts: Sequence[tuple[int, str]],
        *,
        replaces: bool = False,  # noqa: ARG002  clients alone complete uploads here
    ) -> int:
        """Makes a block of parts, and returns its size in bytes."""
        place, whole = _beside(location, upload_id), checksum_of_parts([p[1] for p in parts])
        try:
            held = {part.number: part for part in self.parts(location, upload_id)}
        except NotFound:
            return self._won(location, place, whole)
        for number, checksum in parts:
            if number not in held or held[number].checksum != checksum:
                raise part_not_found(location.address, number)
        try:
            self._objects.put(place, whole.encode(), create=True)
        except AlreadyExists:
            if self._winner(place) != whole:
                raise upload_not_found() from None
        try:
            answer = self._ask_completion(location, upload_id, parts, {})
            self._expect_completed(answer, location, upload_id, parts)
        except NotFound:
            return self._won(location, place, whole)
        return sum(held[number].size for number, _ in parts)

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; one that is not known is passed over."""
        if upload_id:
            super().abort(location, upload_id)
            self._objects.delete([_beside(location, upload_id)])

    def _won(self, location: Location, place: Location, whole: str) -> int:
        """Returns the size of the block, if that list of parts has made it. Raises NotFound."""
        there = self._objects.head(location) if self._winner(place) == whole else None
        if there is None:
            raise upload_not_found()
        return there.size

    def _winner(self, place: Location) -> str:
        try:
            return b"".join(self._objects.open(place, 0, None)).decode()
        except Gone:
            return ""


def _signing(access: GcsAccess) -> Callable[..., SignedRequest]:
    def sign(
        method: str, location: Location, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> SignedRequest:
        return SignedRequest(access.presigned(method, location, query, _SECONDS), headers)

    return sign


def _beside(location: Location, upload_id: str) -> Location:
    digest = hashlib.sha256(upload_id.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return in_upload(location, digest, "whole")
