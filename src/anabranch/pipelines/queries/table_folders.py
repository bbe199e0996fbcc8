"""Notices that files of a query belong to a table of Delta Lake or Iceberg.

Such a table has files that it does not count any more, until they are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.errors import Denied, Invalid, NotFound
from anabranch.model.uri import LakeUri, parse_uri
from anabranch.pipelines.queries.readable_objects import ReadableObjects

__all__ = ["table_folder_notices"]

_MAX_FOLDERS = 8
_LOGS = {
    "_delta_log/*.json": ("Delta Lake", "delta_table"),
    "metadata/*.metadata.json": ("Iceberg", "iceberg_table"),
}


def table_folder_notices(objects: ReadableObjects, table: Mapping[str, Any]) -> Iterator[str]:
    """Yields a notice if the first file of a table of a query, of Parquet, ORC or Avro, is in the
    folder of a table of Delta Lake or Iceberg. Folders whose objects the user may not list are not
    looked at.
    """
    if table["format"] not in ("parquet", "orc", "avro"):
        return
    uri = parse_uri(table["addresses"][0])
    parts = uri.key.split("/")[:-1]
    for depth in range(len(parts), max(-1, len(parts) - _MAX_FOLDERS), -1):
        folder = "".join(f"{part}/" for part in parts[:depth])
        for log, (title, function) in _LOGS.items():
            if _has(objects, LakeUri(uri.repository, uri.ref, folder + log)):
                address = str(LakeUri(uri.repository, uri.ref, folder.rstrip("/")))
                yield (
                    f"{folder or 'The root'} is a {title} table: its files may have rows that the "
                    f"table does not have. {function}('{address}') has those of the table."
                )
                return


def _has(objects: ReadableObjects, pattern: LakeUri) -> bool:
    try:
        return bool(objects.find(str(pattern)))
    except (Denied, Invalid, NotFound):
        return False
