"""The metadata files of an Iceberg table on one side of a merge.

Hadoop tables number them (`v2.metadata.json`), catalogs add a UUID (`00002-….metadata.json`).
`version-hint.text` names the current one; without it, that is the one with the highest number.
Source: the Iceberg table specification, "Table Metadata" and "File System Tables".
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from typing import Any

import msgspec

from anabranch.errors import Conflict
from anabranch.versioning.strategies.contract import PathConflict, Side

__all__ = ["HINT", "TableFiles", "is_metadata_file", "metadata_folder", "next_names", "refused"]

HINT = "version-hint.text"

_HADOOP = re.compile(r"v(\d+)\.(?:gz\.)?metadata\.json(?:\.gz)?")
_CATALOG = re.compile(r"(\d+)-[^/]+?\.(?:gz\.)?metadata\.json(?:\.gz)?")


def refused(reason: str) -> Conflict:
    """Returns the error for tables that cannot be merged."""
    return Conflict(
        reason, kind="merge_failed", hint="Choose a side for the table's data and metadata."
    )


def metadata_folder(path: str) -> str:
    """Returns the folder of the metadata files that a path belongs to, with a slash at its end.
    Raises Conflict if it belongs to none.
    """
    start, folder, _ = f"/{path}".rpartition("/metadata/")
    if not folder:
        raise Conflict(
            "the path is not in the metadata of an Iceberg table",
            kind="merge_failed",
            hint="Use the strategy iceberg for paths like tables/events/metadata/**.",
        )
    return f"{start}{folder}"[1:]


class _Snapshot(msgspec.Struct, rename="kebab"):
    """What the merge reads of a snapshot."""

    snapshot_id: int
    parent_snapshot_id: int | None = None
    manifest_list: str = ""
    summary: dict[str, str] | None = None


class _Metadata(msgspec.Struct, rename="kebab"):
    """What the merge reads of a metadata file."""

    format_version: int
    location: str = ""
    last_updated_ms: int = 0
    last_sequence_number: int = 0
    current_snapshot_id: int | None = None
    snapshots: list[_Snapshot] | None = None
    snapshot_log: list[dict[str, Any]] | None = None
    metadata_log: list[dict[str, Any]] | None = None
    properties: dict[str, str] | None = None
    refs: dict[str, dict[str, Any]] | None = None


_DECODER = msgspec.json.Decoder(_Metadata)


class TableFiles:
    """The metadata files of a table on one side, by their names in `folder`."""

    def __init__(self, conflict: PathConflict, side: Side, folder: str) -> None:
        self.side = side
        self.folder = folder
        self._conflict = conflict
        self.names = [path.removeprefix(folder) for path in conflict.list(side, folder)]

    @property
    def exists(self) -> bool:
        """Whether the side has the table."""
        return any(map(is_metadata_file, self.names))

    @property
    def hint(self) -> str:
        """The content of the version hint, "" without one."""
        return (self._read(HINT) or b"").decode("utf-8", "replace").strip()

    def current(self) -> str:
        """Returns the name of the current metadata file. Raises Conflict if it is not known."""
        hint, names = self.hint, set(self.names)
        if hint.isascii() and hint.isdigit():
            version = int(hint)
            while any(name in names for name in _hadoop_names(version + 1)):
                version += 1  # as Hadoop tables do: the hint may be written late, or not at all
            candidates = _hadoop_names(version)
        elif hint:
            candidates = [hint, f"{hint}.metadata.json"]
        else:
            versions = [(_version(name), name) for name in self.names]
            highest = max((version for version, _ in versions if version is not None), default=-1)
            candidates = [name for version, name in versions if version == highest]
            if len(candidates) > 1:
                raise refused(
                    f"the {self.side} has the metadata files {' and '.join(candidates)}, and no "
                    f"{HINT} that names the current one"
                )
        for name in candidates:
            if name in names:
                return name
        raise refused(f"the {self.side} has no current metadata file")

    def metadata(self, name: str) -> dict[str, Any]:
        """Returns the content of a metadata file. Raises Conflict for a damaged one."""
        content = self._read(name) or b""
        try:
            if content.startswith(b"\x1f\x8b"):
                content = gzip.decompress(content)
            _DECODER.decode(content)
            metadata: dict[str, Any] = json.loads(content)
        except (ValueError, OSError, EOFError, zlib.error, RecursionError) as error:
            raise refused(f"{name} of the {self.side} cannot be read: {error}") from error
        return {**metadata, "snapshots": metadata.get("snapshots") or []}

    def read_address(self, address: str) -> bytes:
        """Returns the bytes of a metadata file, given by its address. Raises Conflict if it is not
        in the table's folder.
        """
        content = None
        if "/metadata/" in address:
            content = self._read(address.rpartition("/metadata/")[2])
        if content is None:
            raise refused(f"the {self.side} refers to {address}, which is not in {self.folder}")
        return content

    def _read(self, name: str) -> bytes | None:
        found = self._conflict.read(self.side, self.folder + name)
        if found is None:
            return None
        with found.open() as stream:
            return stream.read()


def is_metadata_file(name: str) -> bool:
    """Returns whether a name is that of a version of the metadata."""
    return _version(name) is not None


def next_names(destination: str, source: str, hint: str, unique: str) -> tuple[list[str], str]:
    """Returns the names of the metadata file that follows those of both sides, and the version hint
    for it, "" if the destination has none. `unique` is for names with a part that no other has.

    The number is higher than those of both sides: so whatever is written later on one of them, and
    merged, changes a path that the other has changed, too. Hadoop tables look for the file of the
    next number, so the file has all names up to that number.
    """
    last = _version(destination) or 0
    version = max(last, _version(source) or 0) + 1
    if _HADOOP.fullmatch(destination):
        names = [f"v{number}.metadata.json" for number in range(last + 1, version + 1)]
        return names, str(version) if hint else ""
    stem = f"{version:05}-{unique}"
    name = f"{stem}.metadata.json"
    return [name], hint and (name if hint.endswith(".metadata.json") else stem)


def _version(name: str) -> int | None:
    matched = _HADOOP.fullmatch(name) or _CATALOG.fullmatch(name)
    return None if matched is None else int(matched[1])


def _hadoop_names(version: int) -> list[str]:
    ends = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
    return [f"v{version}{end}" for end in ends]
