"""Where listings come from: files here or in the store, an S3 Inventory, or rows in memory."""

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
    inventory_rows_of,
    parse_manifest,
)

__all__ = ["Inventory", "ListingSource", "find_inventory", "inventory_rows", "listing_rows"]

_BATCH = 65_536
_PIECE = 1 << 20


class ListingSource(NamedTuple):
    """What a listing is read from: a path or an address of files, or several, whatever gives an
    Arrow stream, or the place of an S3 Inventory, of which some keys are taken.
    """

    place: Any
    inventory: bool = False
    prefix: str = ""

    def rows(self, blocks: BlockStore | None) -> Callable[[Path], Iterator[pa.RecordBatch]]:
        """Returns what yields the rows, given a folder to work in."""

        def rows(folder: Path) -> Iterator[pa.RecordBatch]:
            if not self.inventory:
                return listing_rows(self.place, blocks, folder)
            found = find_inventory(str(self.place), blocks)
            return inventory_rows(found, blocks, folder, prefix=self.prefix)

        return rows

    def bytes(self, blocks: BlockStore | None) -> int:
        """Returns how large the files of it are. Raises as reading them does."""
        if self.inventory:
            found = find_inventory(str(self.place), blocks)
            return sum(file.size for file in found.manifest.files)
        return sum(_bytes(str(each), blocks) for each in _places(self.place))


class Inventory(NamedTuple):
    """An S3 Inventory, and where each of its files lies: a path, or an address in a store."""

    manifest: Manifest
    places: Sequence[tuple[InventoryFile, str]]


def listing_rows(source: Any, blocks: BlockStore | None, folder: Path) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a listing: a path or an address of files, or several, or whatever gives
    an Arrow stream (tables and readers of Arrow, frames of pandas and Polars, DuckDB's relations).
    Files of the store are brought to `folder` one by one.

    Raises NotFound, Invalid for what can be no listing, Corrupt for files that cannot be read.
    """
    if hasattr(source, "__arrow_c_stream__"):
        for batch in pa.RecordBatchReader.from_stream(source):
            for start in range(0, batch.num_rows, _BATCH):
                yield to_listed(batch.slice(start, _BATCH))
        return
    for each in _places(source):
        for path in _files(str(each), blocks, folder):
            for batch in read_file(path, lambda names: list(parse_columns(names).values())):
                yield to_listed(batch)


def find_inventory(place: str, blocks: BlockStore | None) -> Inventory:
    """Returns the inventory whose manifest, or whose folder, is at a path or an address. Raises
    NotFound, and Invalid for anything else.
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
            raise NotFound(f"{place}: there is no such file", kind="listing_not_found")
        manifest = parse_manifest(path.read_bytes())
        places = [str(_beside(path, file.key)) for file in manifest.files]
    return Inventory(manifest, list(zip(manifest.files, places, strict=True)))


def inventory_rows(
    inventory: Inventory, blocks: BlockStore | None, folder: Path, *, prefix: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yields the objects of an inventory whose keys begin with `prefix`, as rows of a listing.
    Files of the store are brought to `folder` one by one. Raises NotFound, Corrupt, Invalid.
    """
    manifest = inventory.manifest
    for file, place in inventory.places:
        path = _fetch(place, blocks, folder) if "://" in place else Path(place)
        _verify(path, file)
        if manifest.kind == "csv":
            batches = read_csv(path, inventory_columns, manifest.csv_columns)
        elif manifest.kind == "orc":
            batches = read_orc(path, inventory_columns)
        else:
            batches = read_parquet(path, inventory_columns)
        for batch in batches:
            yield inventory_rows_of(batch, encoded=manifest.kind == "csv", prefix=prefix)


def _places(source: Any) -> Sequence[Any]:
    if isinstance(source, (str, os.PathLike)):
        return [source]
    if not isinstance(source, Sequence):
        raise invalid_listing(
            f"{type(source).__name__}: a listing is files, or what gives an Arrow stream"
        )
    return source


def _bytes(place: str, blocks: BlockStore | None) -> int:
    if "://" not in place or place.startswith("file://"):
        return sum(path.stat().st_size for path in files_at(Path(place.removeprefix("file://"))))
    sources = _store(blocks, place).sources
    assert sources is not None  # noqa: S101  it was looked at
    return sum(each.size for each in sources.list(place))


def _files(place: str, blocks: BlockStore | None, folder: Path) -> Iterator[Path]:
    """Yields the files at a path or an address. A file of the store exists locally until the next
    one is yielded.
    """
    if "://" not in place or place.startswith("file://"):
        yield from files_at(Path(place.removeprefix("file://")))
        return
    store = _store(blocks, place)
    if place.endswith("/"):
        assert store.sources is not None  # noqa: S101  it was looked at
        listed = store.sources.list(place)
        found = [each.address for each in listed if not _hidden(each.name)]
    else:
        found = [place]
    for address in found:
        path = _fetch(address, blocks, folder)
        yield from files_at(path)
        path.unlink()


def _fetch(address: str, blocks: BlockStore | None, folder: Path) -> Path:
    """Returns a file of the store as one of the folder."""
    store = _store(blocks, address)
    path = folder / address.rpartition("/")[2]
    with path.open("wb") as file:
        for piece in store.get(address):
            file.write(piece)
    return path


def _store(blocks: BlockStore | None, address: str) -> BlockStore:
    """Returns the store, if the object at an address may be read. Raises Denied, Invalid."""
    if blocks is None or blocks.sources is None:
        raise Denied(
            f"{address}: import is not supported for this storage",
            kind="import_not_supported",
            hint="For local folders, see the setting blockstore.local.import_enabled.",
        )
    blocks.sources.check(address)
    return blocks


def _beside(manifest: Path, key: str) -> Path:
    """Returns where a file of an inventory lies that was copied from its bucket: as it was there,
    or with all files together.
    """
    folder = manifest.resolve().parent
    name = key.rpartition("/")[2]
    candidates = [
        *(above / key for above in folder.parents),
        folder.parent / "data" / name,
        folder / "data" / name,
        folder / name,
    ]
    found = next((path for path in candidates if path.exists()), None)
    if found is None:
        raise NotFound(
            f"{key}: this file of the inventory is not next to {manifest}",
            kind="listing_not_found",
            hint="Copy the inventory's folder `data` next to the folder of its manifest.",
        )
    return found


def _verify(path: Path, file: InventoryFile) -> None:
    """Raises Corrupt unless a file is the one that the manifest names."""
    if not file.md5:
        return
    hashed = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as opened:
        while piece := opened.read(_PIECE):
            hashed.update(piece)
    if hashed.hexdigest() != file.md5.lower():
        raise Corrupt(
            f"{path}: its MD5 is {hashed.hexdigest()}, the manifest says {file.md5}",
            path=str(path),
            hint="Copy the file again.",
        )


def _hidden(name: bytes) -> bool:
    return any(part.startswith((b".", b"_")) for part in name.split(b"/"))
