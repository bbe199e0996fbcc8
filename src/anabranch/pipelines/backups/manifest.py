"""The manifest of a backup, which is written last: a backup without one does not exist."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

import msgspec

from anabranch.errors import Corrupt

__all__ = [
    "FORMAT",
    "Manifest",
    "ReferenceFile",
    "decode_manifest",
    "encode_manifest",
    "id_stem",
    "new_id",
]

FORMAT = 1
"""The version of the layout of a target."""

_RANDOM_BYTES = 3


class ReferenceFile(msgspec.Struct, frozen=True):
    """A file with rows of the key-value store: its name, the SHA-256 of its bytes, its rows."""

    name: str
    sha256: str
    rows: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A backup. `created_at` is the moment of its references, in seconds since 1970. With
    `objects`, the target has the objects that they need. `problems` are what could not be copied.
    """

    id: str
    created_at: float
    format: int = FORMAT
    objects: bool = False
    files: list[ReferenceFile] = []
    repositories: list[str] = []
    copied_tables: int = 0
    copied_objects: int = 0
    copied_bytes: int = 0
    problems: list[str] = []

    @property
    def rows(self) -> int:
        """The number of rows of the key-value store."""
        return sum(each.rows for each in self.files)


_DECODER = msgspec.json.Decoder(Manifest)


def encode_manifest(manifest: Manifest) -> bytes:
    """Returns the content of a manifest's file."""
    return msgspec.json.encode(manifest)


def decode_manifest(raw: bytes, address: str) -> Manifest:
    """Returns the manifest of a file. Raises Corrupt, also for a later format."""
    try:
        manifest = _DECODER.decode(raw)
    except msgspec.MsgspecError as error:
        raise Corrupt(
            f"{address}: the manifest cannot be read: {error}",
            path=address,
            hint="Use another backup: `--backup ID`.",
        ) from error
    if manifest.format > FORMAT:
        raise Corrupt(
            f"{address}: the backup has format {manifest.format}, this version of Anabranch knows "
            f"{FORMAT}",
            path=address,
            hint="Use the version of Anabranch that wrote it, or a later one.",
        )
    return manifest


def new_id(now: float) -> str:
    """Returns a new id of a backup at a time in seconds since 1970; ids sort by time."""
    return f"{id_stem(now)}-{secrets.token_hex(_RANDOM_BYTES)}"


def id_stem(moment: float) -> str:
    """Returns what the ids of backups at a time in seconds since 1970 begin with."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
