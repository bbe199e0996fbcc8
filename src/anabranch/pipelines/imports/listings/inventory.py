"""S3 Inventory, a listing of a bucket that the store writes, as rows of objects to import.

An inventory is a `manifest.json` that names its files, which are CSV, ORC or Parquet. Keys are
URL-encoded in CSV only. An inventory of all versions also has rows of noncurrent versions and
delete markers, which are skipped. The format is described in Amazon's documentation of S3
Inventory, in the pages "Locating your inventory list" and "Inventory lists".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.external_objects import base_length
from anabranch.pipelines.imports.listings.columns import invalid_listing, to_listed

__all__ = [
    "MANIFEST",
    "InventoryFile",
    "Manifest",
    "inventory_columns",
    "parse_manifest",
    "to_listing_rows",
]

MANIFEST = "manifest.json"

_REQUIRED = ("bucket", "key", "size")
_READ = (*_REQUIRED, "lastmodifieddate", "etag", "islatest", "isdeletemarker")
_ARN = "arn:aws:s3:::"
_INVALID_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class InventoryFile(msgspec.Struct, frozen=True):
    """A file of an inventory: its key in the bucket of the inventory, its size in bytes, and the
    hex MD5 of its bytes.
    """

    key: str
    size: int = 0
    md5: str = msgspec.field(name="MD5checksum", default="")


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """The contents of `manifest.json`."""

    source_bucket: str
    destination_bucket: str
    file_format: str
    file_schema: str
    files: list[InventoryFile]

    @property
    def bucket(self) -> str:
        """The name of the bucket that the inventory is stored in."""
        return self.destination_bucket.removeprefix(_ARN)

    @property
    def kind(self) -> str:
        """The format of the files: "csv", "orc" or "parquet"."""
        return self.file_format.lower()

    @property
    def csv_columns(self) -> list[str]:
        """The names of the columns of CSV files, which have no header."""
        return [name.strip() for name in self.file_schema.split(",")]


_DECODER = msgspec.json.Decoder(Manifest)


def parse_manifest(text: bytes) -> Manifest:
    """Parses a manifest. Raises Invalid for anything else."""
    try:
        manifest = _DECODER.decode(text)
    except msgspec.DecodeError as error:
        raise invalid_listing(f"not a manifest of an S3 Inventory: {error}") from error
    if manifest.kind not in {"csv", "orc", "parquet"}:
        raise invalid_listing(
            f"the format of the inventory is {manifest.file_format!r}, not CSV, ORC or Parquet"
        )
    return manifest


def inventory_columns(names: Sequence[str]) -> list[str]:
    """Returns the columns of a file to read. Raises Invalid if required columns are missing, which
    are optional in the configuration of an inventory.
    """
    present = {_normalize_name(name): name for name in names}
    missing = [name for name in _REQUIRED if name not in present]
    if missing:
        raise invalid_listing(f"the inventory has no column {', '.join(missing)}")
    return [present[name] for name in _READ if name in present]


def to_listing_rows(batch: pa.RecordBatch, *, encoded: bool, prefix: str = "") -> pa.RecordBatch:
    """Converts a batch of an inventory to rows of a listing: the objects whose keys begin with
    `prefix`; their paths are the keys without the prefix's folder. If `encoded`, keys are
    URL-encoded; a key that cannot be decoded becomes a row without a path.
    """
    names = {_normalize_name(name): name for name in inventory_columns(batch.schema.names)}
    batch = batch.filter(_is_current(batch, names))
    key = batch.column(names["key"]).cast(pa.string())
    if encoded:
        key = _decode_keys(key)
    if prefix:
        # a key that cannot be decoded may have the prefix
        inside = pc.fill_null(pc.starts_with(key, prefix), True)
        batch, key = batch.filter(inside), key.filter(inside)
    path = pc.utf8_slice_codeunits(key, base_length(prefix))
    address = pc.binary_join_element_wise(
        "s3://", batch.column(names["bucket"]).cast(pa.string()), "/", key, ""
    )
    columns = {"path": path, "physical_address": address, "size": batch.column(names["size"])}
    for ours, theirs in (("checksum", "etag"), ("last_modified", "lastmodifieddate")):
        if theirs in names:
            columns[ours] = batch.column(names[theirs])
    rows = to_listed(pa.RecordBatch.from_pydict(columns))
    # without the directory marker of the prefix itself
    return rows.filter(pc.fill_null(pc.not_equal(rows.column("path"), ""), True))


def _is_current(batch: pa.RecordBatch, names: dict[str, str]) -> Any:
    """Returns which rows are current versions of objects, not noncurrent ones or delete markers."""
    current = pa.repeat(pa.scalar(True), batch.num_rows)
    for name, expected in (("islatest", "true"), ("isdeletemarker", "false")):
        if name in names:
            value = pc.utf8_lower(batch.column(names[name]).cast(pa.string()))
            # empty or null for a bucket without versioning
            matches = pc.or_kleene(pc.equal(value, expected), pc.equal(value, ""))
            current = pc.and_(current, pc.fill_null(matches, True))
    return current


def _decode_keys(keys: pa.Array) -> pa.Array:
    """Returns URL-decoded keys. Only the keys with escapes, usually few, are decoded."""
    encoded = pc.fill_null(pc.match_substring_regex(keys, "[%+]"), False)
    if not pc.any(encoded, min_count=0).as_py():
        return keys
    decoded = [_decode_key(text) for text in keys.filter(encoded).to_pylist()]
    return pc.replace_with_mask(keys, encoded, pa.array(decoded, pa.string()))


def _decode_key(text: str) -> str | None:
    """Returns a URL-decoded key, None if it is invalid."""
    if _INVALID_ESCAPE.search(text):
        return None
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        return None


def _normalize_name(name: str) -> str:
    """Returns one spelling for the names of a column: `LastModifiedDate`, `last_modified_date`."""
    return name.replace("_", "").lower()
