"""The check of tables of the Iceberg catalog: the records on branches and tags name metadata, these
lists of manifests, these manifests, and these the files with data and deletes. No entry names them.

Each file is read once, and the area of a table is listed once; what is missing there is looked up.
Files that cannot be understood name nothing here: that an engine cannot read them is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.errors import AnabranchError, Corrupt, Gone, Invalid, NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.area_files import area_paths
from anabranch.model.tables.table_area import areas_folder
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
from anabranch.tables.iceberg.named_files import NamedFiles
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.table_files import TableFiles
from anabranch.versioning.records import keys, references

__all__ = ["RecordTrees", "check_area_files", "record_trees"]

CHECK = "objects"
_MAX_RECORD_BYTES = 1 << 20

T = TypeVar("T")


class RecordTrees(NamedTuple):
    """The trees of the branches and tags of a repository, whose records must name what exists."""

    repository: Repository
    trees: Sequence[str]


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
    """Yields the files that records lead to and that are missing."""
    files = TableFiles(blocks, core.repositories.of_name)
    for repository, trees in found:
        progress.begin(f"reading the tables of {repository.id}", len(trees))
        metadata: dict[str, dict[str, str]] = {}
        for tree in trees:
            try:
                for path, record in _records(core, blocks, repository, tree):
                    metadata.setdefault(record.area, {})[record.metadata] = path
            except (AnabranchError, kernel.KernelError, ValueError):
                continue  # the check of tables says what is damaged
            progress.advance(1)
        for area, tables in metadata.items():
            missing = _Area(files, blocks, repository, area).missing(tables)
            if missing and live.has_repository(repository):
                for address, path in missing.items():
                    yield Finding(
                        *(CHECK, "object_missing", f"{repository.id} {path}"),
                        f"a file of the table is missing: {address}",
                    )


class _Area:
    """The files of an area of tables."""

    def __init__(
        self, files: TableFiles, blocks: BlockStore, repository: Repository, area: str
    ) -> None:
        self._files = files
        self._blocks = blocks
        self._repository = repository
        self._area = area
        self._folder = f"{areas_folder(repository)}/{area}/"
        self._named: dict[str, str] = {}
        """The addresses in the store of files that were named, and the path of a record."""

    def missing(self, tables: Mapping[str, str]) -> dict[str, str]:
        """Returns the addresses of files that are missing, and the path of a record that leads to
        each. `tables` has the paths of records by the metadata that they name.
        """
        read = self._files
        for metadata, path in tables.items():
            found = self._read(read.metadata, metadata, path) or NamedFiles()
            manifests = {*self._note(found.manifests, path)}
            for listed in self._note(found.manifest_lists, path):
                manifests.update(self._note(self._read(read.manifest_list, listed, path), path))
            for manifest in manifests:
                self._note(self._read(read.needed_by_manifest, manifest, path), path)
        lost = dict(self._named)
        for info in _listing(self._blocks, self._folder):
            lost.pop(info.address, None)
        return {each: path for each, path in lost.items() if _is_missing(self._blocks, each)}

    def _read(self, read: Callable[[Repository, str], T], address: str, path: str) -> T | tuple[()]:
        """Returns what a file names; nothing if it is missing, or not understood."""
        self._note([address], path)
        try:
            return read(self._repository, address)
        except (Corrupt, Gone, Invalid, NotFound):
            return ()

    def _note(self, addresses: Iterable[str], path: str) -> list[str]:
        """Notes files of the area that are named, and returns those that were not yet. An address
        that clients may understand in several ways is left out.
        """
        new = []
        for address in addresses:
            places = area_paths(address)
            if len(places) != 1 or places[0][:2] != (self._repository.id, self._area):
                continue
            stored = self._folder + places[0].path
            if stored not in self._named:
                self._named[stored] = path
                new.append(address)
        return new


def _listing(blocks: BlockStore, folder: str) -> Iterator[BlockInfo]:
    try:
        yield from blocks.list(folder)
    except (NotFound, Invalid):
        return


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
