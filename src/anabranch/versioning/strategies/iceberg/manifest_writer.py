"""Manifests of a merged snapshot.

Source: the Iceberg table specification, "Manifests", "Sequence Number Inheritance" and "First Row
ID Inheritance".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from anabranch.tables.iceberg.avro_files import write_avro
from anabranch.tables.iceberg.manifests import (
    DELETED,
    FILE_FIRST_ROW_ID,
    FIRST_ROW_ID,
    FileEntry,
    ListedManifest,
)

__all__ = ["ADDED", "EXISTING", "ManifestWriter"]

EXISTING, ADDED = range(2)
"""The status of entries, besides DELETED."""

_COUNTS = {ADDED: (504, 512), EXISTING: (505, 513), DELETED: (506, 514)}
"""The fields of a manifest list for the numbers of files and rows, by the status of entries."""


class ManifestWriter:
    """Writes manifests of the snapshot with an id and a sequence number. Their addresses begin with
    `stem`; `first_row` is the first id that added rows get, None in tables without row ids.
    """

    def __init__(
        self, snapshot_id: int, stem: str, sequence_number: int, first_row: int | None
    ) -> None:
        self.files: dict[str, bytes] = {}
        """The manifests by the ends of their addresses, after the last slash."""
        self.added_rows = 0
        self._id = snapshot_id
        self._stem = stem
        self._sequence_number = sequence_number
        self._first_row = first_row

    def write(
        self, like: ListedManifest, entries: Iterable[tuple[int, FileEntry]]
    ) -> dict[int, Any]:
        """Writes a manifest and returns its record in the manifest list. The bounds of partitions
        are those of the manifest that it is made from, which has more files.
        """
        names = like.file.names()
        entries = list(entries)
        records = []
        for status, entry in entries:
            record = {**entry.record, names[0]: status}
            if status != EXISTING:
                record[names[1]] = self._id
            if status == ADDED:  # the sequence numbers of the new snapshot are inherited
                record |= {names[number]: None for number in (3, 4) if number in names}
                record[names[2]] = self._with_new_row_ids(like, record[names[2]])
            records.append(record)
        content = write_avro(like.file.schema, like.file.metadata, records)
        address = f"{self._stem}-m{len(self.files)}.avro"
        self.files[address.rpartition("/")[2]] = content
        counts: Counter[int] = Counter()
        for status, entry in entries:
            files, rows = _COUNTS[status]
            counts.update({files: 1, rows: entry.rows})
        numbers = [
            self._sequence_number if status == ADDED else entry.sequence_number
            for status, entry in entries
            if status != DELETED
        ]
        row_ids: dict[int, int | None] = {}
        if like.is_of_deletes:  # their rows have no ids
            row_ids = {FIRST_ROW_ID: None}
        else:
            if self._first_row is not None:
                row_ids = {FIRST_ROW_ID: self._first_row + self.added_rows}
            self.added_rows += counts[_COUNTS[ADDED][1]]
        return {
            **{number: like.value(number) for number in like.names},
            **row_ids,
            500: address,
            501: len(content),
            503: self._id,
            515: self._sequence_number,
            516: min(numbers, default=self._sequence_number),
            **{number: counts[number] for pair in _COUNTS.values() for number in pair},
        }

    def _with_new_row_ids(self, like: ListedManifest, described: dict[str, Any]) -> dict[str, Any]:
        """Returns the description of a file whose rows get ids in the new snapshot: those that the
        source has given them may be of other rows on the destination.
        """
        name = like.file.names("data_file").get(FILE_FIRST_ROW_ID)
        return described if name is None else {**described, name: None}
