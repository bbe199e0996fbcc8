"""The snapshot that adds the changes of the source to an Iceberg table on the destination.

Each manifest with files that the source added gives one manifest, and each of the destination's
with files that the source removed is written again without them. Everything is derived from the two
versions of the table, so a merge that is repeated gives the same files.

Source: the Iceberg table specification, "Sequence Numbers", "Manifests", "Snapshots".
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from anabranch.tables.iceberg.avro_files import write_avro
from anabranch.tables.iceberg.commits.normal_metadata import LINEAGE_VERSION
from anabranch.tables.iceberg.manifests import (
    DATA,
    DELETED,
    EQUALITY_DELETES,
    POSITION_DELETES,
    FileEntry,
)
from anabranch.tables.iceberg.metadata_files import HADOOP_NAME, metadata_version
from anabranch.versioning.strategies.iceberg.changes import SideChanges, TableVersion
from anabranch.versioning.strategies.iceberg.manifest_writer import (
    ADDED,
    EXISTING,
    ManifestWriter,
)

__all__ = ["MergedSnapshot"]

_Measure = Callable[[FileEntry], int]
_MEASURES: tuple[tuple[str, str, str, _Measure], ...] = (
    ("data-files", "added-data-files", "deleted-data-files", lambda e: e.content == DATA),
    ("delete-files", "added-delete-files", "removed-delete-files", lambda e: e.content != DATA),
    ("records", "added-records", "deleted-records", lambda e: e.rows * (e.content == DATA)),
    ("files-size", "added-files-size", "removed-files-size", lambda e: e.size),
    (
        *("position-deletes", "added-position-deletes", "removed-position-deletes"),
        lambda e: e.rows * (e.content == POSITION_DELETES),
    ),
    (
        *("equality-deletes", "added-equality-deletes", "removed-equality-deletes"),
        lambda e: e.rows * (e.content == EQUALITY_DELETES),
    ),
)
"""The totals of a summary, the names of what is added to them and removed, and its measure."""

_MAX_PREVIOUS_FILES = "write.metadata.previous-versions-max"


class MergedSnapshot:
    """The merged version of a table. `folder` is the address of its metadata files on the
    destination, without a slash at its end; `settings` are the fields of its metadata that are not
    those of the destination, None for one that is left out. Without changes of files, there is no
    snapshot.
    """

    def __init__(
        self,
        source: TableVersion,
        destination: TableVersion,
        changes: SideChanges,
        settings: Mapping[str, Any],
        folder: str,
    ) -> None:
        self._settings = settings
        self._source = source
        self._destination = destination
        self._changes = changes
        self._folder = folder
        self._digest = self._identify()
        self.id = self._snapshot_id()
        self._unique = str(uuid.UUID(bytes=self._digest[:16], version=5))
        self._sequence_number = destination.metadata.get("last-sequence-number", 0) + 1
        self._first_row = destination.metadata.get("next-row-id") or 0
        self._has_row_ids = destination.metadata["format-version"] >= LINEAGE_VERSION
        self._manifests = ManifestWriter(
            self.id,
            f"{folder}/{self._unique}",
            self._sequence_number,
            self._first_row if self._has_row_ids else None,
        )
        self._names, self._hint = _next_names(
            destination.name, source.name, destination.files.hint, self._unique
        )

    @property
    def metadata_name(self) -> str:
        """The name of the current metadata file."""
        return self._names[-1]

    def files(self) -> dict[str, bytes]:
        """Returns the new metadata files by their names; the version hint is one of them, if the
        destination has it.
        """
        files: dict[str, bytes] = {}
        new = self._settled_metadata()
        if self._changes.added or self._changes.removed:
            listed = [*self._added_manifests(), *self._kept_manifests()]
            list_name = f"snap-{self.id}-1-{self._unique}.avro"
            files = {**self._manifests.files, list_name: self._manifest_list(listed)}
            new = self._with_snapshot(new, list_name)
        metadata = json.dumps(new, separators=(",", ":")).encode()
        files |= dict.fromkeys(self._names, metadata)
        if self._hint:
            files["version-hint.text"] = self._hint.encode()
        return files

    def _identify(self) -> bytes:
        versions = self._source, self._destination
        parts = [version.metadata.get("current-snapshot-id") for version in versions]
        parts += [self._destination.name, self._folder]
        parts += [sorted(self._changes.added), sorted(self._changes.removed)]
        parts.append(sorted(self._settings.items()))
        return hashlib.sha256(json.dumps(parts).encode()).digest()

    def _snapshot_id(self) -> int:
        taken = self._source.snapshots().keys() | self._destination.snapshots().keys()
        number = int.from_bytes(self._digest[16:24], "big") >> 1
        while number in taken or number == 0:
            number += 1
        return number

    def _added_manifests(self) -> Iterator[dict[int, Any]]:
        """Yields the records of manifests with the files that the source added."""
        for manifest in self._source.manifests.manifests.values():
            if manifest.address in self._destination.manifests.manifests:
                continue
            added = self._changes.added
            entries = [(ADDED, entry) for entry in manifest.live if entry.key in added]
            if entries:
                yield self._manifests.write(manifest, entries)

    def _kept_manifests(self) -> Iterator[dict[int, Any]]:
        """Yields the records of the destination's manifests."""
        removed = self._changes.removed
        theirs = self._source.manifests.manifests
        for manifest in self._destination.manifests.manifests.values():
            # a manifest that the source has, too, has no file that the source removed
            is_changed = removed and manifest.address not in theirs
            if is_changed and any(entry.key in removed for entry in manifest.live):
                yield self._manifests.write(
                    manifest,
                    [
                        (DELETED if entry.key in removed else EXISTING, entry)
                        for entry in manifest.live
                    ],
                )
            else:
                yield {number: manifest.value(number) for number in manifest.names}

    def _manifest_list(self, listed: Iterable[Mapping[int, Any]]) -> bytes:
        file = self._destination.manifests.file or self._source.manifests.file
        assert file is not None  # noqa: S101  the source has changes
        names = file.names()
        parent = self._destination.metadata.get("current-snapshot-id")
        header = {
            **file.metadata,
            "snapshot-id": str(self.id),
            "parent-snapshot-id": "null" if self._destination.snapshot is None else str(parent),
        }
        if "sequence-number" in header:
            header["sequence-number"] = str(self._sequence_number)
        records = [{name: each.get(number) for number, name in names.items()} for each in listed]
        return write_avro(file.schema, header, records)

    def _settled_metadata(self) -> dict[str, Any]:
        """Returns the destination's metadata with the changes of settings."""
        old = self._destination.metadata
        time = max(version.get("last-updated-ms", 0) for version in (old, self._source.metadata))
        new = {**old, **self._settings}
        left_out = {name for name, value in self._settings.items() if value is None}
        new = {name: value for name, value in new.items() if name not in left_out}
        return {**new, "last-updated-ms": time, "metadata-log": self._metadata_log()}

    def _with_snapshot(self, old: dict[str, Any], list_name: str) -> dict[str, Any]:
        """Returns metadata with the snapshot as the current one."""
        time = old["last-updated-ms"]
        snapshot: dict[str, Any] = {
            "snapshot-id": self.id,
            "timestamp-ms": time,
            "manifest-list": f"{self._folder}/{list_name}",
            "summary": self._summary(),
        }
        if "current-schema-id" in old:
            snapshot["schema-id"] = old["current-schema-id"]
        if self._destination.snapshot is not None:
            snapshot["parent-snapshot-id"] = old["current-snapshot-id"]
        new = {
            **old,
            "current-snapshot-id": self.id,
            "snapshot-log": [
                *(old.get("snapshot-log") or ()),
                {"snapshot-id": self.id, "timestamp-ms": time},
            ],
        }
        if self._has_row_ids:
            snapshot["first-row-id"] = self._first_row
            snapshot["added-rows"] = self._manifests.added_rows
            new["next-row-id"] = self._first_row + self._manifests.added_rows
        if old["format-version"] > 1:
            snapshot["sequence-number"] = new["last-sequence-number"] = self._sequence_number
        main = {"type": "branch", **(old.get("refs") or {}).get("main", {}), "snapshot-id": self.id}
        new["refs"] = {**(old.get("refs") or {}), "main": main}
        new["snapshots"] = [*old["snapshots"], snapshot]
        return new

    def _metadata_log(self) -> list[dict[str, Any]]:
        old = self._destination.metadata
        entry = {
            "metadata-file": f"{self._folder}/{self._destination.name}",
            "timestamp-ms": old.get("last-updated-ms", 0),
        }
        most = (old.get("properties") or {}).get(_MAX_PREVIOUS_FILES, "100")
        kept = max(int(most), 1) if most.isdigit() else 1
        return [*(old.get("metadata-log") or ()), entry][-kept:]

    def _summary(self) -> dict[str, str]:
        added, removed = self._changes.added.values(), self._changes.removed.values()
        operation = "append"
        if removed or any(entry.content != DATA for entry in added):
            operation = "overwrite" if self._changes.changed else "replace"
        snapshot = self._destination.snapshot or {}
        before: Mapping[str, str] = snapshot.get("summary") or {}
        summary = {"operation": operation}
        for total, plus, minus, measure in _MEASURES:
            more, less = sum(map(measure, added)), sum(map(measure, removed))
            summary |= {name: str(value) for name, value in ((plus, more), (minus, less)) if value}
            if f"total-{total}" in before or not snapshot:
                known = int(before.get(f"total-{total}", 0))
                summary[f"total-{total}"] = str(known + more - less)
        return summary


def _next_names(destination: str, source: str, hint: str, unique: str) -> tuple[list[str], str]:
    """Returns the names of the metadata file that follows those of both sides, and the version hint
    for it, "" if the destination has none. `unique` is for names with a part that no other has.

    The number is higher than those of both sides: so whatever is written later on one of them, and
    merged, changes a path that the other has changed, too. Hadoop tables look for the file of the
    next number, so the file has all names up to that number.
    """
    last = metadata_version(destination) or 0
    version = max(last, metadata_version(source) or 0) + 1
    if HADOOP_NAME.fullmatch(destination):
        names = [f"v{number}.metadata.json" for number in range(last + 1, version + 1)]
        return names, str(version) if hint else ""
    stem = f"{version:05}-{unique}"
    name = f"{stem}.metadata.json"
    return [name], hint and (name if hint.endswith(".metadata.json") else stem)
