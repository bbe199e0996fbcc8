"""Documents: what clients of SCIM store with a user or a group, and nothing else here uses.

    access  scim/users/USER      attributes of a user, in JSON
            scim/groups/GROUP    attributes of a group, in JSON

A document has the time at which its user or group was created; one of an earlier user or group of
the same name is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from anabranch.access.records.layout import OWN_PARTITION
from anabranch.errors import Corrupt, Invalid
from anabranch.keyvalue.contract import KeyValueStore, Write

__all__ = ["Document", "Documents"]

_MAX_BYTES = 128 * 1024


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes by their names; times in seconds since 1970."""

    created_at: int
    modified_at: int
    attributes: dict[str, Any] = {}


_DECODER = msgspec.json.Decoder(Document)


class Documents:
    """The documents of users or of groups. Those without a document have the attributes of
    `default`.
    """

    def __init__(
        self,
        store: KeyValueStore,
        kind: Literal["users", "groups"],
        default: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._default = dict(default)
        self._prefix = f"scim/{kind}/".encode()

    def find_many(self, names: dict[str, int]) -> list[Document]:
        """Returns the documents of users or groups, given with the times of their creation."""
        values = self._store.get_many(OWN_PARTITION, [self._key(name) for name in names])
        found = []
        for (name, created_at), value in zip(names.items(), values, strict=True):
            document = None if value is None else _decode(name, value)
            if document is None or document.created_at != created_at:
                document = Document(
                    created_at=created_at, modified_at=created_at, attributes=self._default
                )
            found.append(document)
        return found

    def write(self, name: str, document: Document) -> Write:
        """Returns the write that stores a document; raises Invalid for one that is too long."""
        value = msgspec.json.encode(document)
        if len(value) > _MAX_BYTES:
            raise Invalid(f"the attributes are longer than {_MAX_BYTES} bytes", kind="too_long")
        return Write(OWN_PARTITION, self._key(name), value)

    def removal(self, name: str) -> Write:
        """Returns the write that removes a document."""
        return Write(OWN_PARTITION, self._key(name), None)

    def _key(self, name: str) -> bytes:
        return self._prefix + name.encode()


def _decode(name: str, value: bytes) -> Document:
    try:
        return _DECODER.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Corrupt("the attributes of SCIM cannot be read", path=name) from None
