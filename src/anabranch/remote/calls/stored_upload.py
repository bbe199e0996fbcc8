"""Uploads to the server's store, by addresses that it presigns: no byte goes through the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import msgspec

from anabranch.client.rest_client import RestClient
from anabranch.client.transport import TransportError
from anabranch.errors import Denied, Invalid, NotSupported
from anabranch.model.objects.md5 import md5_of
from anabranch.model.objects.stat import Stat
from anabranch.remote.call import Exchange, Reply, change, read
from anabranch.remote.calls.results import stat_result

__all__ = ["LARGE_UPLOAD", "StoredUpload"]

LARGE_UPLOAD = 8 << 20
"""Objects of this size and larger go to the store, in bytes: it takes two requests more."""

_MOST = 5 << 30
"""The most that stores take by one request, in bytes."""
_STORED = (200, 201)
_NOT_STORED = {"link_address_empty", "link_size_mismatch"}
"""Kinds of errors if another one has answered in place of the store, such as a proxy."""

_BLOCK_BLOB = {"x-ms-blob-type": "BlockBlob"}
"""Azure requires it; the others do not look at it."""

_without_addresses: WeakSet[RestClient] = WeakSet()
"""Clients whose server presigns no addresses, or whose store cannot be reached from here."""


class _Location(msgspec.Struct, frozen=True):
    physical_address: str
    presigned_url: str


_LOCATION = msgspec.json.Decoder(_Location)


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """An upload of chunks that can be read again."""

    segments: tuple[str, ...]
    params: Mapping[str, Any]
    chunks: Sequence[bytes]
    if_absent: bool

    def run(
        self, client: RestClient, content_type: str, metadata: Mapping[str, str]
    ) -> Stat | None:
        """Stores the bytes, and has the server make them an object. Returns None if they have to go
        through the server. Raises AnabranchError.
        """
        size = sum(map(len, self.chunks))
        if client in _without_addresses or size > _MOST or "storageClass" in self.params:
            return None
        backing = [*self.segments[:-1], "staging", "backing"]
        path = self.params["path"]
        try:
            location = Exchange(read(backing, path=path, presign=True), _location).run(client)
        except NotSupported:
            _without_addresses.add(client)
            return None
        except Denied:  # the keys may be for uploads alone
            return None
        if not self._store(client, location.presigned_url, size):
            return None
        body = {
            "staging": {"physical_address": location.physical_address},
            "checksum": md5_of(self.chunks),
            "size_bytes": size,
            "content_type": content_type,
            "user_metadata": dict(metadata),
            "force": self.params.get("force"),
        }
        headers = {"If-None-Match": "*"} if self.if_absent else None
        link = change("PUT", backing, body, headers=headers, path=path)
        try:
            return Exchange(link, stat_result).run(client)
        except Invalid as error:
            if error.kind not in _NOT_STORED:
                raise
            return None

    def _store(self, client: RestClient, url: str, size: int) -> bool:
        headers = {"Content-Length": str(size), **_BLOCK_BLOB}
        body: Any = [chunk for chunk in self.chunks if chunk]
        try:
            with client.send_elsewhere("PUT", url, headers, body) as response:
                response.read()
                return response.status in _STORED
        except TransportError as error:
            if error.unsent:
                _without_addresses.add(client)
            return False


def _location(reply: Reply) -> _Location:
    return _LOCATION.decode(reply.body)
