"""Versions of objects that clients keep open while their branch changes.

A client that reads an object in several requests must get one version of it. The token of a version
is the entry's record, without the user's metadata, and its HMAC with the repository, the reference
and the path. It says which bytes to read and permits nothing by itself: a request with it needs the
right to read the path at the reference, as any other.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.object_page import object_stat
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import Invalid
from anabranch.model.image import PINNED
from anabranch.model.names import encode_path
from anabranch.model.objects.stat import Stat
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import entry_from, entry_value

__all__ = ["Versions"]

_DIGEST_BYTES = 32


class Versions:
    """Makes the tokens of versions, and opens what they name."""

    def __init__(self, core: Core, blocks: BlockStore, signing_secret: bytes) -> None:
        self._core = core
        self._blocks = blocks
        # a derived key: signatures for other purposes with the same secret are not valid here
        self._key = hmac.digest(signing_secret, b"anabranch object version", "sha256")

    def stat(self, opened: OpenObject, path: str) -> Stat:
        """Returns the properties of an object that is open, at its path."""
        namespace = opened.repository.storage_namespace
        return object_stat(self._blocks, namespace, path, opened.entry)

    def token(self, opened: OpenObject, reference: str, path: str) -> str:
        """Returns the token of the version that is open, of letters, digits, `-`, `_` and `=`."""
        metadata = opened.entry.metadata
        kept = {PINNED: metadata[PINNED]} if PINNED in metadata else {}
        _, record = entry_value(msgspec.structs.replace(opened.entry, metadata=kept))
        signature = self._signature(opened.repository, reference, path, record)
        return urlsafe_b64encode(signature + record).decode()

    def open(self, repository: str, reference: str, path: str, token: str) -> OpenObject:
        """Returns the version of a path that a token names, open for reading, without the user's
        metadata. Raises NotFound for the repository, and Invalid for the token of another path or
        reference.
        """
        stored_repository = self._core.repositories.get(repository)
        try:
            signed = urlsafe_b64decode(token.encode())
        except ValueError:
            signed = b""
        signature, record = signed[:_DIGEST_BYTES], signed[_DIGEST_BYTES:]
        expected = self._signature(stored_repository, reference, path, record)
        if not hmac.compare_digest(signature, expected):
            raise Invalid(
                "the version is not one of this object",
                kind="invalid_version",
                hint="Open the object again: a version is valid for its reference and its path.",
            )
        return OpenObject(stored_repository, entry_from((b"", record)), self._blocks)

    def _signature(self, repository: Repository, reference: str, path: str, record: bytes) -> bytes:
        # JSON, so that different versions never have the same text
        text = msgspec.json.encode([repository.partition, reference, encode_path(path), record])
        return hmac.new(self._key, text, hashlib.sha256).digest()
