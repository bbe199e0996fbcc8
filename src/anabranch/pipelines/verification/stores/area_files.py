"""The check of tables of the Iceberg catalog: the records on branches and tags name metadata, and
these lists of manifests, which no entry names.

Manifests and the data files that they name are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError, Corrupt, Gone, Invalid
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import area_location, areas_folder
from anabranch.model.tables.table_record import (
    NAMESPACE_FILE,
    RECORDS_ROOT,
    TableRecord,
    table_from,
)
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.stores.entries import EntryReader
from anabranch.pipelines.verification.stores.live_needs import Needs
from anabranch.versioning.core import Core
from anabranch.versioning.records import keys, references

__all__ = ["RecordTrees", "check_area_files", "record_trees"]

CHECK = "objects"
_MAX_RECORD_BYTES = 1 << 20
_MAX_METADATA_BYTES = 1 << 28


class RecordTrees(NamedTuple):
    """The trees of the branches and tags of a repository, whose records must name what exists."""

    repository: Repository
    trees: Sequence[str]


class _Snapshot(msgspec.Struct):
    manifest_list: str = msgspec.field(default="", name="manifest-list")


class _Metadata(msgspec.Struct):
    snapshots: list[_Snapshot] | None = None


_METADATA = msgspec.json.Decoder(_Metadata)


def record_trees(inspected: Inspected) -> list[RecordTrees]:
    """Returns the trees of all branches and tags."""
    found = []
    for repository in inspected.repositories:
        heads = {branch.commit_id for _, branch in inspected.branches(repository)}
        heads |= {tag.commit_id for _, tag in inspected.tags(repository)}
        trees = set()
        for head in heads:
            raw = inspected.store.get(repository.partition, keys.commit(head))
            try:
                trees.add(references.commit_from(raw).metarange_id if raw else "")
            except AnabranchError:
                continue  # the check of records says so
        found.append(RecordTrees(repository, sorted(trees - {kernel.EMPTY_TREE_ID})))
    return found


def check_area_files(
    core: Core, blocks: BlockStore, live: Needs, found: Sequence[RecordTrees], progress: Progress
) -> Iterator[Finding]:
    """Yields the files that records name and that are missing."""
    for repository, trees in found:
        progress.begin(f"reading the tables of {repository.id}", len(trees))
        named: dict[str, str] = {}
        for tree in trees:
            try:
                for path, record in _records(core, blocks, repository, tree):
                    named.update(dict.fromkeys(_named(blocks, repository, record), path))
            except (AnabranchError, kernel.KernelError, ValueError):
                continue  # the check of tables says what is damaged
            progress.advance(1)
        missing = [each for each in named if _is_missing(blocks, each)]
        if missing and live.has_repository(repository):
            for address in missing:
                yield Finding(
                    *(CHECK, "object_missing", f"{repository.id} {named[address]}"),
                    f"a file of the table is missing: {address}",
                )


def _is_missing(blocks: BlockStore, address: str) -> bool:
    try:
        return blocks.stat(address) is None
    except Invalid:
        return False


def _records(
    core: Core, blocks: BlockStore, repository: Repository, tree: str
) -> Iterator[tuple[str, TableRecord]]:
    reader = EntryReader(blocks)
    opened = core.trees.open(repository, tree)
    for entries in reader.read_tree(repository, opened, prefix=RECORDS_ROOT.encode()):
        columns = entries.paths, entries.addresses, entries.sizes
        for path, address, size in zip(*(each.to_pylist() for each in columns), strict=True):
            if path.endswith(f"/{NAMESPACE_FILE}") or size > _MAX_RECORD_BYTES:
                continue
            try:
                yield path, table_from(blocks.read(address), repository.id, path)
            except (Corrupt, Gone, Invalid):
                continue  # no record, or an object that the check of objects misses


def _named(blocks: BlockStore, repository: Repository, record: TableRecord) -> Iterator[str]:
    """Yields the addresses of the files in the area that a record names."""
    location = f"{area_location(repository.id, record.area)}/"
    folder = f"{areas_folder(repository)}/{record.area}/"
    address = folder + record.metadata.removeprefix(location)
    try:
        info = blocks.stat(address)
    except Invalid:
        return  # everybody who may write to the path of a record can name what is no file
    yield address
    if info is None or info.size > _MAX_METADATA_BYTES:
        return
    try:
        snapshots = _METADATA.decode(blocks.read(address)).snapshots or []
    except (Gone, msgspec.MsgspecError):
        return
    for snapshot in snapshots:
        if snapshot.manifest_list.startswith(location):
            yield folder + snapshot.manifest_list.removeprefix(location)
