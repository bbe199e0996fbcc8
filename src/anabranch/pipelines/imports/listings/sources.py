"""Sources of listings: local files, files in the store, an S3 Inventory, or rows in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt, Denied, NotFound
from anabranch.pipelines.imports.listings.columns import invalid_listing, parse_columns, to_listed
from anabranch.pipelines.imports.listings.files import (
    files_at,
    read_csv,
    read_file,
    read_orc,
    read_parquet,
)
from anabranch.pipelines.imports.listings.inventory import (
    MANIFEST,
    InventoryFile,
    Manifest,
    inventory_columns,
    parse_manifest,
    to_listing_rows,
)

__all__ = ["Inventory", "ListingSource", "find_inventory", "inventory_rows", "listing_rows"]

_BATCH = 65_536
_READ_BYTES = 1 << 20


class ListingSource(NamedTuple):
    """The source of a listing. `place` is a path or address of files, a sequence of these, or an
    object with an Arrow stream; if `inventory`, it is the path or address of an S3 Inventory, of
    which the keys that begin with `prefix` are read.
    """

    place: Any
    inventory: bool = False
    prefix: str = ""

    def rows(self, blocks: BlockStore | None) -> Callable[[Path], Iterator[pa.RecordBatch]]:
        """Returns a function that yields the rows, given a folder for temporary files."""

        def rows(folder: Path) -> Iterator[pa.RecordBatch]:
            if not self.inventory:
                return listing_rows(self.place, blocks, folder)
            inventory = find_inventory(str(self.place), blocks)
            return inventory_rows(inventory, blocks, folder, prefix=self.prefix)

        return rows

    def bytes(self, blocks: BlockStore | None) -> int:
        """Returns the total size of the files. Raises the errors of `rows`."""
        if self.inventory:
            inventory = find_inventory(str(self.place), blocks)
            return sum(file.size for file in inventory.manifest.files)
        return sum(_total_size(str(place), blocks) for place in _places(self.place))


class Inventory(NamedTuple):
    """An S3 Inventory: its manifest, and each file with its local path or address in a store."""

    manifest: Manifest
    places: Sequence[tuple[InventoryFile, str]]


def listing_rows(source: Any, blocks: BlockStore | None, folder: Path) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a listing: a path or address of files, a sequence of these, or an object
    with an Arrow stream (an Arrow table or reader, a data frame of pandas or Polars, a DuckDB
    relation). Files in the store are downloaded to `folder` one by one.

    Raises NotFound, Invalid for an unsupported source, Corrupt for files that cannot be read.
    """
    if hasattr(source, "__arrow_c_stream__"):
        for batch in pa.RecordBatchReader.from_stream(source):
            for start in range(0, batch.num_rows, _BATCH):
                yield to_listed(batch.slice(start, _BATCH))
        return
    for place in _places(source):
        for path in _files(str(place), blocks, folder):
            for batch in read_file(path, lambda names: list(parse_columns(names).values())):
                yield to_listed(batch)


def find_inventory(place: str, blocks: BlockStore | None) -> Inventory:
    """Returns the inventory at a path or address of its manifest or of the manifest's folder.
    Raises NotFound, and Invalid for an invalid manifest.
    """
    if not place.endswith(MANIFEST):
        place = f"{place.rstrip('/')}/{MANIFEST}"
    if "://" in place:
        manifest = parse_manifest(b"".join(_store(blocks, place).get(place)))
        bucket = place.split("/", 3)[2]
        places = [f"s3://{bucket}/{file.key}" for file in manifest.files]
    else:
        path = Path(place)
        if not path.exists():
            raise NotFound(f"{place}: no such file", kind="listing_not_found")
        manifest = parse_manifest(path.read_bytes())
        places = [str(_local_path(path, file.key)) for file in manifest.files]
    return Inventory(manifest, list(zip(manifest.files, places, strict=True)))


def inventory_rows(
    inventory: Inventory, blocks: BlockStore | None, folder: Path, *, prefix: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yields the objects of an inventory whose keys begin with `prefix`, as rows of a listing.
    Files in the store are downloaded to `folder` one by one. Raises NotFound, Corrupt, Invalid.
    """
    manifest = inventory.manifest
    for file, place in inventory.places:
        path = _download(place, blocks, folder) if "://" in place else Path(place)
        _verify_md5(path, file)
        if manifest.kind == "csv":
            batches = read_csv(path, inventory_columns, manifest.csv_columns)
        elif manifest.kind == "orc":
            batches = read_orc(path, inventory_columns)
        else:
            batches = read_parquet(path, inventory_columns)
        for batch in batches:
            yield to_listing_rows(batch, encoded=manifest.kind == "csv", prefix=prefix)


def _places(source: Any) -> Sequence[Any]:
    if isinstance(source, (str, os.PathLike)):
        return [source]
    if not isinstance(source, Sequence):
        raise invalid_listing(
            f"{type(source).__name__}: a listing is given as files or an Arrow stream"
        )
    return source


def _total_size(place: str, blocks: BlockStore | None) -> int:
    if "://" not in place or place.startswith("file://"):
        return sum(path.stat().st_size for path in files_at(Path(place.removeprefix("file://"))))
    sources = _store(blocks, place).sources
    assert sources is not None  # noqa: S101  `_store` checks it
    return sum(source.size for source in sources.list(place))


def _files(place: str, blocks: BlockStore | None, folder: Path) -> Iterator[Path]:
    """Yields the files at a path or address. A file from the store is removed from `folder` before
    the next one is downloaded.
    """
    if "://" not in place or place.startswith("file://"):
        yield from files_at(Path(place.removeprefix("file://")))
        return
    store = _store(blocks, place)
    if place.endswith("/"):
        assert store.sources is not None  # noqa: S101  `_store` checks it
        objects = store.sources.list(place)
        addresses = [source.address for source in objects if not _is_hidden(source.name)]
    else:
        addresses = [place]
    for address in addresses:
        path = _download(address, blocks, folder)
        yield from files_at(path)
        path.unlink()


def _download(address: str, blocks: BlockStore | None, folder: Path) -> Path:
    """Copies an object of the store into a file of the folder, and returns its path."""
    store = _store(blocks, address)
    path = folder / address.rpartition("/")[2]
    with path.open("wb") as file:
        for chunk in store.get(address):
            file.write(chunk)
    return path


def _store(blocks: BlockStore | None, address: str) -> BlockStore:
    """Returns the store. Raises Denied or Invalid if imports may not read the address."""
    if blocks is None or blocks.sources is None:
        raise Denied(
            f"{address}: import is not supported for this storage",
            kind="import_not_supported",
            hint="For local folders, see the setting blockstore.local.import_enabled.",
        )
    blocks.sources.check(address)
    return blocks


def _local_path(manifest: Path, key: str) -> Path:
    """Returns the path of a file of an inventory that was copied from its bucket. The copy has the
    bucket's folders, or all files in one folder, or the data files in a folder `data`.
    """
    folder = manifest.resolve().parent
    name = key.rpartition("/")[2]
    candidates = [
        *(parent / key for parent in folder.parents),
        folder.parent / "data" / name,
        folder / "data" / name,
        folder / name,
    ]
    path = next((path for path in candidates if path.exists()), None)
    if path is None:
        raise NotFound(
            f"{key}: this file of the inventory was not found near {manifest}",
            kind="listing_not_found",
            hint="Copy the inventory's folder `data` next to the folder of its manifest.",
        )
    return path


def _verify_md5(path: Path, file: InventoryFile) -> None:
    """Raises Corrupt if a file does not have the MD5 in the manifest."""
    if not file.md5:
        return
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as opened:
        while chunk := opened.read(_READ_BYTES):
            digest.update(chunk)
    if digest.hexdigest() != file.md5.lower():
        raise Corrupt(
            f"{path}: its MD5 is {digest.hexdigest()}, the manifest has {file.md5}",
            path=str(path),
            hint="Copy the file again.",
        )


def _is_hidden(name: bytes) -> bool:
    return any(part.startswith((b".", b"_")) for part in name.split(b"/"))
