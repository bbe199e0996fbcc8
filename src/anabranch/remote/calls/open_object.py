"""Opening an object: one request, which has its properties, its version and its first bytes."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from dataclasses import dataclass

import msgspec

from anabranch.client.rest_client import Request, RestClient
from anabranch.errors import Busy, NotSupported, RangeNotSatisfiable
from anabranch.model.objects.stat import Stat
from anabranch.remote.call import Exchange, Reply, read
from anabranch.remote.calls.results import stat_result
from anabranch.remote.remote_object import RemoteObject
from anabranch.remote.wire import WireObject

__all__ = ["FIRST_BYTES", "Open"]

FIRST_BYTES = 128 << 10
"""An object of this size is opened and read by one request."""

_ATTEMPTS = 10
_OBJECT = msgspec.json.Decoder(WireObject)


@dataclass(frozen=True, slots=True)
class Open:
    """Opens the object at a path of a reference."""

    segments: tuple[str, ...]
    path: str

    def run(self, client: RestClient) -> RemoteObject:
        """Returns the object, open for reading. Raises NotFound; NotSupported if the server cannot
        keep a version open.
        """
        request = read(self.segments, path=self.path, pin=True)
        for _ in range(_ATTEMPTS):
            reply = self._first_bytes(client, request)
            version = reply.response.header("x-anabranch-version")
            if not version:
                raise NotSupported(
                    "the server cannot keep a version of an object open",
                    kind="unsupported_by_server",
                    hint="Connect to a server of Anabranch that is as new as this client.",
                )
            stat = self._stat(client, reply)
            if quote(stat.entry.checksum) == reply.response.header("etag"):
                location = request._replace(params={"path": self.path, "version": version})
                return RemoteObject(client, location, stat, reply.body)
        raise Busy(f"{self.path} is replaced all the time", kind="object_replaced")

    def _first_bytes(self, client: RestClient, request: Request) -> Reply:
        first = request._replace(headers={"Range": f"bytes=0-{FIRST_BYTES - 1}"})
        try:
            return Exchange(first, _reply).run(client)
        except RangeNotSatisfiable:  # the object is empty
            return Exchange(request, _reply).run(client)

    def _stat(self, client: RestClient, reply: Reply) -> Stat:
        properties = reply.response.header("x-anabranch-object")
        if properties:
            return _OBJECT.decode(urlsafe_b64decode(properties)).stat()
        # they are too long for a header
        return Exchange(read([*self.segments, "stat"], path=self.path), stat_result).run(client)


def quote(checksum: str) -> str:
    """Returns the ETag of an object with a checksum."""
    return f'"{checksum}"'


def _reply(reply: Reply) -> Reply:
    return reply
