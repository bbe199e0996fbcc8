"""Creations of repositories that have begun: what tells a second attempt that the mark in the
storage namespace is of the first, whose outcome was not learned.

    partition            key   value
    anabranch-creations  NAME  the storage namespace and a random text, as JSON

A creation is recorded, then its namespace is marked with the text, then the repository's record is
written in the transaction that removes that of the creation. Whatever fails in between, the same
creation can be attempted again.

That transaction is made on condition that the record of the creation is as it was before the mark
was found or written, and that no purge has begun or ended since. Else the mark may be gone, or of
another repository.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from anabranch.errors import Busy
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.versioning.identifiers import Identifiers

__all__ = ["BegunCreation", "BegunCreations"]

_PARTITION = "anabranch-creations"
_MAX_ATTEMPTS = 100


class _Creation(msgspec.Struct, frozen=True):
    storage_namespace: str
    text: str


class BegunCreation(NamedTuple):
    """A creation that has begun: the text of its mark, and the record that it is made with."""

    text: str
    record: Expect


_DECODER = msgspec.json.Decoder(_Creation)


class BegunCreations:
    """The creations that have begun, by the repository's name."""

    def __init__(self, keyvalue: KeyValueStore, identifiers: Identifiers) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers

    def begin(self, name: str, storage_namespace: str) -> BegunCreation:
        """Records a creation and returns it, with the text of an earlier attempt at the same."""
        key = name.encode()
        for _ in range(_MAX_ATTEMPTS):
            raw = self._keyvalue.get(_PARTITION, key)
            if raw is not None:
                begun = _DECODER.decode(raw)
                if begun.storage_namespace == storage_namespace:
                    return BegunCreation(begun.text, Expect(_PARTITION, key, raw))
            creation = _Creation(storage_namespace, self._identifiers.xid())
            record = msgspec.json.encode(creation)
            if self._keyvalue.apply(
                [Write(_PARTITION, key, record)], [Expect(_PARTITION, key, raw)]
            ):
                return BegunCreation(creation.text, Expect(_PARTITION, key, record))
        raise Busy("too many processes are creating a repository of this name")

    def end(self, name: str) -> Write:
        """Returns the write that removes the record of a creation."""
        return Write(_PARTITION, name.encode(), None)
