"""Storage classes of objects, read from the headers of a HEAD request, which obstore leaves out."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.errors import gone_error
from anabranch.blocks.cloud.signed_requests import SigningClient, require_status

__all__ = ["StorageClassReader", "storage_class_reader"]

_OK, _NOT_FOUND = 200, 404

StorageClassReader = Callable[[Location], str | None]
"""Returns the storage class of an object. Raises Gone."""


def storage_class_reader(
    requests: SigningClient, header: str, default: str | None = None
) -> StorageClassReader:
    """Returns a reader of the classes that the store sends in a header; `default` is that of
    objects without the header.
    """

    def read(location: Location) -> str | None:
        response = requests.send("HEAD", location)
        if response.status == _NOT_FOUND:
            raise gone_error(location.address)
        require_status(response, location, _OK)
        return response.headers.get(header, default)

    return read
