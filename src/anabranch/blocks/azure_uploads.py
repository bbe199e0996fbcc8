"""Uploads in parts on Azure: a part is a block of the blob-to-be, which a list of blocks makes a
blob, so that no byte is moved when an upload is completed.

Until then nothing is visible, and what nobody adds to for a week Azure removes. A list is taken
only where no blob is yet (`If-None-Match`), so of lists that race exactly one wins; who won is
kept with the blob.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import BinaryIO

from anabranch.blocks.azure_access import AzureAccess
from anabranch.blocks.azure_blocks import ABORTED, FILLING, Block, block_list, read_blocks
from anabranch.blocks.http_pool import HttpAnswer
from anabranch.blocks.object_addresses import Location
from anabranch.blocks.objects import Objects
from anabranch.blocks.part_sources import read_source
from anabranch.blocks.patience import Patience
from anabranch.blocks.signed_requests import SignedRequests, code_of, expect
from anabranch.blocks.spooled import spooled
from anabranch.blocks.upload_errors import part_not_found, upload_not_found, wrong_md5
from anabranch.blocks.upload_folder import is_in_upload
from anabranch.blocks.upload_ids import is_upload_id, new_upload_id
from anabranch.errors import Invalid, NotFound
from anabranch.model.part import Part, checksum_of_parts

__all__ = ["AzureUploads"]

_OK, _CREATED, _NOT_FOUND = 200, 201, 404
_ACCEPTED, _CONFLICT, _PRECONDITION = 202, 409, 412
_LOST = frozenset({"BlobAlreadyExists", "ConditionNotMet", "InvalidBlockList"})
_WINNER = "x-ms-meta-anabranch"
_LARGEST_BLOCK = 4_000 << 20
_NANOSECONDS = 1_000_000_000


class AzureUploads:
    """The uploads of a store that signs, whose blocks `objects` reads. `clock` gives seconds since
    1970.
    """

    def __init__(
        self,
        access: AzureAccess,
        objects: Objects,
        patience: Patience,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._requests = SignedRequests(access.signed_request, patience)
        self._objects = objects
        self._clock = clock

    def hides(self, key: str) -> bool:
        """Returns whether a key is of an upload, and no block's: of one begun without our key."""
        return is_in_upload(key)

    def open(self, location: Location) -> str:
        """Returns the id of a new upload."""
        upload_id = new_upload_id(location)
        self._stage(location, Block(_raw(upload_id), 0, self._now()), FILLING, len(FILLING))
        return upload_id

    def put(
        self,
        location: Location,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        md5: str | None,
    ) -> Part:
        """Stores the chunks as a part."""
        before = self._blocks(location, upload_id)
        with spooled(chunks) as held:
            if md5 not in {None, held.md5}:
                raise wrong_md5(location.address, number)
            if held.size > _LARGEST_BLOCK:
                raise Invalid(
                    f"{location.address}: a part has at most {_LARGEST_BLOCK} bytes in Azure",
                    kind="part_too_large",
                )
            stamp = max([self._now(), *(b.stamp + 1 for b in before if b.number == number)])
            digest = bytes.fromhex(held.md5)
            block = Block(_raw(upload_id), number, stamp, digest, held.size)
            if held.size:
                self._stage(location, block, held.file, held.size)
            else:
                self._stage(location, block, FILLING, len(FILLING))
        self._blocks(location, upload_id)  # it may have been aborted meanwhile
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
        """Stores bytes of another block as a part. They come by here, for their MD5."""
        self._blocks(location, upload_id)
        chunks = read_source(self._objects, source, start, length)
        return self.put(location, upload_id, number, chunks, None)

    def parts(self, location: Location, upload_id: str) -> list[Part]:
        """Returns the parts that are there, by number."""
        newest = _newest(self._blocks(location, upload_id))
        return [newest[number].part for number in sorted(newest)]

    def complete(self, location: Location, upload_id: str, parts: Sequence[tuple[int, str]]) -> int:
        """Makes a block of parts, and returns its size in bytes."""
        winner = f"{upload_id} {checksum_of_parts([part[1] for part in parts])}"
        try:
            newest = _newest(self._blocks(location, upload_id))
        except NotFound:
            return self._won(location, winner)
        chosen = []
        for number, checksum in parts:
            block = newest.get(number)
            if block is None or block.md5.hex() != checksum:
                raise part_not_found(location.address, number)
            chosen.append(block)
        headers = {"x-ms-blob-content-type": "application/octet-stream", _WINNER: winner}
        answer = self._commit(location, [b for b in chosen if not b.is_empty], headers)
        if _has_lost(answer):
            return self._won(location, winner)
        expect(answer, location, _CREATED)
        return sum(block.size for block in chosen)

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; one that is not known is passed over.

        Azure forgets blocks when a blob is made without them, so an empty one is made for a
        moment. Where there are other uploads to the address, that is left to the last of them.
        """
        if not is_upload_id(location, upload_id):
            return
        there = self._there(location)
        mine = _raw(upload_id)
        if mine not in _open(there):
            return
        self._stage(location, Block(mine, 0, self._now(), ABORTED), FILLING, len(FILLING))
        if _open(there) - {mine}:
            return
        answer = self._commit(location, [], {})
        if _has_lost(answer):
            return  # it has been completed meanwhile
        expect(answer, location, _CREATED)
        headers = {"If-Match": answer.headers.get("etag", "*")}
        answer = self._requests.send("DELETE", location, headers=headers)
        if answer.status not in {_NOT_FOUND, _PRECONDITION}:
            expect(answer, location, _ACCEPTED)

    def _blocks(self, location: Location, upload_id: str) -> list[Block]:
        """Returns the blocks of an upload. Raises NotFound unless it is open."""
        if not is_upload_id(location, upload_id):
            raise upload_not_found()
        there, mine = self._there(location), _raw(upload_id)
        if mine not in _open(there):
            raise upload_not_found()
        return [block for block in there if block.upload == mine]

    def _there(self, location: Location) -> list[Block]:
        """Returns the blocks of all uploads to a location that has no blob yet."""
        query = {"comp": "blocklist", "blocklisttype": "uncommitted"}
        answer = self._requests.send("GET", location, query=query)
        if code_of(answer) == "BlobNotFound":
            return []
        expect(answer, location, _OK)
        return read_blocks(answer.body)

    def _stage(self, location: Location, block: Block, body: bytes | BinaryIO, length: int) -> None:
        headers = {}
        if not isinstance(body, bytes):
            headers["Content-MD5"] = base64.b64encode(block.md5).decode()
        query = {"comp": "block", "blockid": block.name}
        answer = self._requests.send(
            "PUT", location, query=query, headers=headers, body=body, length=length
        )
        if answer.status == _CONFLICT:
            raise upload_not_found()
        expect(answer, location, _CREATED)

    def _commit(
        self, location: Location, blocks: Iterable[Block], headers: Mapping[str, str]
    ) -> HttpAnswer:
        """Makes a blob of blocks, if there is none."""
        sent = {**headers, "Content-Type": "application/xml", "If-None-Match": "*"}
        document = block_list(blocks)
        query = {"comp": "blocklist"}
        return self._requests.send("PUT", location, query=query, headers=sent, body=document)

    def _won(self, location: Location, winner: str) -> int:
        """Returns the size of the blob, if that upload and list have made it. Raises NotFound."""
        there = self._requests.send("HEAD", location)
        if there.status == _NOT_FOUND or there.headers.get(_WINNER) != winner:
            raise upload_not_found()
        expect(there, location, _OK)
        return int(there.headers.get("content-length", 0))

    def _now(self) -> int:
        return int(self._clock() * _NANOSECONDS)


def _newest(blocks: Iterable[Block]) -> dict[int, Block]:
    """Returns the part that counts, by number."""
    newest: dict[int, Block] = {}
    for block in sorted(blocks, key=lambda block: block.stamp):
        if block.number:
            newest[block.number] = block
    return newest


def _open(blocks: Iterable[Block]) -> set[bytes]:
    """Returns the uploads that have been opened, and not aborted."""
    said = [block for block in blocks if not block.number]
    aborted = {block.upload for block in said if block.md5 == ABORTED}
    return {block.upload for block in said} - aborted


def _has_lost(answer: HttpAnswer) -> bool:
    """Returns whether there is a blob already, or the blocks are gone."""
    return code_of(answer) in _LOST or answer.status in {_CONFLICT, _PRECONDITION}


def _raw(upload_id: str) -> bytes:
    return bytes.fromhex(upload_id.partition("-")[0])
