"""Multipart uploads to Azure: a part is an uncommitted block of the future blob.

A completion commits a list of blocks, which moves no data. Uncommitted blocks are invisible, and
Azure removes them after a week without a change. A completion requires that the blob does not exist
(`If-None-Match`), so exactly one of several concurrent ones wins; the blob's metadata tells which.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import BinaryIO

from anabranch.blocks.azure.block_list import ABORTED, FILLING, Block, block_list, read_blocks
from anabranch.blocks.azure.endpoint import AzureEndpoint
from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.client import ObjectClient
from anabranch.blocks.cloud.http_pool import HttpResponse
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.blocks.cloud.signed_requests import SigningClient, error_code, require_status
from anabranch.blocks.multipart.copy_source import read_copy_source
from anabranch.blocks.multipart.errors import part_not_found, upload_not_found, wrong_md5
from anabranch.blocks.multipart.spooled_body import spool_to_file
from anabranch.blocks.multipart.upload_folder import is_upload_key
from anabranch.blocks.multipart.upload_ids import is_upload_id, new_upload_id
from anabranch.errors import Invalid, NotFound
from anabranch.model.uploads.part import Part, multipart_checksum

__all__ = ["AzureUploads"]

_OK, _CREATED, _NOT_FOUND = 200, 201, 404
_ACCEPTED, _CONFLICT, _PRECONDITION = 202, 409, 412
_CONFLICTS = frozenset({"BlobAlreadyExists", "ConditionNotMet", "InvalidBlockList"})
_COMPLETION = "x-ms-meta-anabranch"
_MAX_BLOCK_BYTES = 4_000 << 20
_NANOSECONDS = 1_000_000_000


class AzureUploads:
    """A `MultipartClient` that signs requests. `objects` reads the sources of copied parts; `clock`
    gives seconds since 1970.
    """

    def __init__(
        self,
        access: AzureEndpoint,
        objects: ObjectClient,
        retry_policy: RetryPolicy,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._requests = SigningClient(access.signed_request, retry_policy)
        self._objects = objects
        self._clock = clock

    def hides(self, key: str) -> bool:
        """Returns whether a key belongs to an upload that was opened without an access key."""
        return is_upload_key(key)

    def open(self, location: Location) -> str:
        """Opens an upload and returns its id."""
        upload_id = new_upload_id(location)
        self._stage(location, Block(_to_bytes(upload_id), 0, self._now()), FILLING, len(FILLING))
        return upload_id

    def put(
        self,
        location: Location,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        md5: str | None,
    ) -> Part:
        """Stores the chunks as a part. Raises NotFound, and Invalid if the hex `md5` differs."""
        existing = self._blocks(location, upload_id)
        with spool_to_file(chunks) as body:
            if md5 not in {None, body.md5}:
                raise wrong_md5(location.address, number)
            if body.size > _MAX_BLOCK_BYTES:
                raise Invalid(
                    f"{location.address}: a part has at most {_MAX_BLOCK_BYTES} bytes in Azure",
                    kind="part_too_large",
                )
            stamp = max([self._now(), *(b.stamp + 1 for b in existing if b.number == number)])
            digest = bytes.fromhex(body.md5)
            block = Block(_to_bytes(upload_id), number, stamp, digest, body.size)
            if body.size:
                self._stage(location, block, body.file, body.size)
            else:
                self._stage(location, block, FILLING, len(FILLING))
        self._blocks(location, upload_id)  # raises if the upload was aborted meanwhile
        return block.part

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores a range of another block as a part, through this process to compute its MD5."""
        self._blocks(location, upload_id)
        chunks = read_copy_source(self._objects, source, start, length)
        return self.put(location, upload_id, number, chunks, None)

    def parts(self, location: Location, upload_id: str) -> list[Part]:
        """Returns the stored parts, by number. Raises NotFound."""
        newest = _newest(self._blocks(location, upload_id))
        return [newest[number].part for number in sorted(newest)]

    def complete(self, location: Location, upload_id: str, parts: Sequence[tuple[int, str]]) -> int:
        """Joins parts to a block and returns its size in bytes. Raises NotFound and Invalid."""
        completion = f"{upload_id} {multipart_checksum([part[1] for part in parts])}"
        try:
            newest = _newest(self._blocks(location, upload_id))
        except NotFound:
            return self._completed_size(location, completion)
        chosen = []
        for number, checksum in parts:
            block = newest.get(number)
            if block is None or block.md5.hex() != checksum:
                raise part_not_found(location.address, number)
            chosen.append(block)
        headers = {"x-ms-blob-content-type": "application/octet-stream", _COMPLETION: completion}
        response = self._commit(location, [b for b in chosen if not b.is_empty], headers)
        if _is_conflict(response):
            return self._completed_size(location, completion)
        require_status(response, location, _CREATED)
        return sum(block.size for block in chosen)

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; an unknown one is ignored.

        Azure discards uncommitted blocks when a blob is committed without them, so an empty blob is
        created for a moment. If the address has other uploads, that is left to the last of them.
        """
        if not is_upload_id(location, upload_id):
            return
        blocks = self._all_blocks(location)
        own = _to_bytes(upload_id)
        if own not in _open_uploads(blocks):
            return
        self._stage(location, Block(own, 0, self._now(), ABORTED), FILLING, len(FILLING))
        if _open_uploads(blocks) - {own}:
            return
        response = self._commit(location, [], {})
        if _is_conflict(response):
            return  # the upload was completed meanwhile
        require_status(response, location, _CREATED)
        headers = {"If-Match": response.headers.get("etag", "*")}
        response = self._requests.send("DELETE", location, headers=headers)
        if response.status not in {_NOT_FOUND, _PRECONDITION}:
            require_status(response, location, _ACCEPTED)

    def _blocks(self, location: Location, upload_id: str) -> list[Block]:
        """Returns the blocks of an upload. Raises NotFound unless it is open."""
        if not is_upload_id(location, upload_id):
            raise upload_not_found()
        blocks, own = self._all_blocks(location), _to_bytes(upload_id)
        if own not in _open_uploads(blocks):
            raise upload_not_found()
        return [block for block in blocks if block.upload == own]

    def _all_blocks(self, location: Location) -> list[Block]:
        """Returns the uncommitted blocks of all uploads to a location."""
        query = {"comp": "blocklist", "blocklisttype": "uncommitted"}
        response = self._requests.send("GET", location, query=query)
        if error_code(response) == "BlobNotFound":
            return []
        require_status(response, location, _OK)
        return read_blocks(response.body)

    def _stage(self, location: Location, block: Block, body: bytes | BinaryIO, length: int) -> None:
        headers = {}
        if not isinstance(body, bytes):
            headers["Content-MD5"] = base64.b64encode(block.md5).decode()
        query = {"comp": "block", "blockid": block.name}
        response = self._requests.send(
            "PUT", location, query=query, headers=headers, body=body, length=length
        )
        if response.status == _CONFLICT:
            raise upload_not_found()
        require_status(response, location, _CREATED)

    def _commit(
        self, location: Location, blocks: Iterable[Block], headers: Mapping[str, str]
    ) -> HttpResponse:
        """Commits blocks as a blob, unless the blob exists."""
        all_headers = {**headers, "Content-Type": "application/xml", "If-None-Match": "*"}
        document = block_list(blocks)
        query = {"comp": "blocklist"}
        return self._requests.send("PUT", location, query=query, headers=all_headers, body=document)

    def _completed_size(self, location: Location, completion: str) -> int:
        """Returns the size of the blob. Raises NotFound unless this completion has created it."""
        blob = self._requests.send("HEAD", location)
        if blob.status == _NOT_FOUND or blob.headers.get(_COMPLETION) != completion:
            raise upload_not_found()
        require_status(blob, location, _OK)
        return int(blob.headers.get("content-length", 0))

    def _now(self) -> int:
        return int(self._clock() * _NANOSECONDS)


def _newest(blocks: Iterable[Block]) -> dict[int, Block]:
    """Returns the newest block of each part, by number."""
    newest: dict[int, Block] = {}
    for block in sorted(blocks, key=lambda block: block.stamp):
        if block.number:
            newest[block.number] = block
    return newest


def _open_uploads(blocks: Iterable[Block]) -> set[bytes]:
    """Returns the uploads that were opened and not aborted."""
    markers = [block for block in blocks if not block.number]
    aborted = {block.upload for block in markers if block.md5 == ABORTED}
    return {block.upload for block in markers} - aborted


def _is_conflict(response: HttpResponse) -> bool:
    """Returns whether a commit failed because the blob exists or the blocks do not."""
    return error_code(response) in _CONFLICTS or response.status in {_CONFLICT, _PRECONDITION}


def _to_bytes(upload_id: str) -> bytes:
    return bytes.fromhex(upload_id.partition("-")[0])
