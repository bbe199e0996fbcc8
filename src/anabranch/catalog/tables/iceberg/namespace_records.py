"""Records of namespaces: small JSON objects on branches."""

from __future__ import annotations

import msgspec

from anabranch.errors import Corrupt

__all__ = ["NamespaceRecord", "namespace_from"]


class NamespaceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a namespace."""

    properties: dict[str, str] = {}

    def to_bytes(self) -> bytes:
        """Returns the content of the object."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2) + b"\n"


_namespaces = msgspec.json.Decoder(NamespaceRecord)


def namespace_from(content: bytes, path: str) -> NamespaceRecord:
    """Returns the record in an object. Raises Corrupt."""
    try:
        return _namespaces.decode(content)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"{path}: not a namespace: {error}", kind="damaged_record") from error
