"""S3 Inventory: a listing of a bucket that the store has made, as rows of objects to import.

An inventory is a `manifest.json` that names its files, which are CSV, ORC or Parquet. Keys are
URL-encoded in CSV alone. An inventory of all versions has rows of old versions and of deletions,
which readers of the bucket do not see. The format is described in Amazon's
"Amazon S3 Inventory", in the pages "Locating your inventory list" and "Inventory lists".
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
    "inventory_rows_of",
    "parse_manifest",
]

MANIFEST = "manifest.json"

_NEEDED = ("bucket", "key", "size")
_TAKEN = (*_NEEDED, "lastmodifieddate", "etag", "islatest", "isdeletemarker")
_ARN = "arn:aws:s3:::"
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")


class InventoryFile(msgspec.Struct, frozen=True):
    """A file of an inventory: its key in the bucket of the inventory, its size in bytes
    and the hex MD5 of its bytes.
    """

    key: str
    size: int = 0
    md5: str = msgspec.field(name="MD5checksum", default="")


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """What is in `manifest.json`."""

    source_bucket: str
    destination_bucket: str
    file_format: str
    file_schema: str
    files: list[InventoryFile]

    @property
    def bucket(self) -> str:
        """Returns the name of the bucket that holds the inventory."""
        return self.destination_bucket.removeprefix(_ARN)

    @property
    def kind(self) -> str:
        """Returns "csv", "orc" or "parquet"."""
        return self.file_format.lower()

    @property
    def csv_columns(self) -> list[str]:
        """Returns the names of the columns of CSV files, which do not have them."""
        return [name.strip() for name in self.file_schema.split(",")]


def parse_manifest(text: bytes) -> Manifest:
    """Returns a parsed manifest. Raises Invalid for anything else."""
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError as error:
        raise invalid_listing(f"this is not a manifest of an S3 Inventory: {error}") from error
    if manifest.kind not in {"csv", "orc", "parquet"}:
        raise invalid_listing(
            f"the inventory is in {manifest.file_format!r}, which is not CSV, ORC or Parquet"
        )
    return manifest


def inventory_columns(names: Sequence[str]) -> list[str]:
    """Returns those of a file's columns that are needed. Raises Invalid where some are missing,
    which an inventory has only if it is configured so.
    """
    columns = {_plain(name): name for name in names}
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        raise invalid_listing(f"the inventory has no column {', '.join(missing)}")
    return [columns[name] for name in _TAKEN if name in columns]


def inventory_rows_of(batch: pa.RecordBatch, *, encoded: bool, prefix: str = "") -> pa.RecordBatch:
    """Returns the objects of a batch of an inventory as rows of a listing: those whose keys begin
    with `prefix`, under what is behind its last slash. Keys are URL-encoded if they are `encoded`;
    one that cannot be decoded gives a row without a path.
    """
    names = {_plain(name): name for name in inventory_columns(batch.schema.names)}
    batch = batch.filter(_present(batch, names))
    key = batch.column(names["key"]).cast(pa.string())
    if encoded:
        key = _decoded(key)
    if prefix:
        # what cannot be decoded may be one of these
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
    # a marker of the prefix itself, as stores have them for folders
    return rows.filter(pc.fill_null(pc.not_equal(rows.column("path"), ""), True))


def _present(batch: pa.RecordBatch, names: dict[str, str]) -> Any:
    """Returns which rows are of current versions of existing objects."""
    present = pa.repeat(pa.scalar(True), batch.num_rows)
    for name, good in (("islatest", "true"), ("isdeletemarker", "false")):
        if name in names:
            said = pc.utf8_lower(batch.column(names[name]).cast(pa.string()))
            # a bucket without versions says nothing
            fits = pc.or_kleene(pc.equal(said, good), pc.equal(said, ""))
            present = pc.and_(present, pc.fill_null(fits, True))
    return present


def _decoded(keys: pa.Array) -> pa.Array:
    """Returns keys without their encoding; most have nothing that is encoded."""
    coded = pc.fill_null(pc.match_substring_regex(keys, "[%+]"), False)
    if not pc.any(coded, min_count=0).as_py():
        return keys
    plain = pa.array([_key(text) for text in keys.filter(coded).to_pylist()], pa.string())
    return pc.replace_with_mask(keys, coded, plain)


def _key(text: str) -> str | None:
    if _BROKEN.search(text):
        return None
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        return None


def _plain(name: str) -> str:
    """Returns what a column is called in all formats: `LastModifiedDate`, `last_modified_date`."""
    return name.replace("_", "").lower()
