"""The records of tables of the Iceberg catalog whose files must exist: those of all trees whose
objects must, each once, and those that are staged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError, Corrupt, Gone, Invalid
from anabranch.model.names import decode_key, encode_path
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import (
    RECORDS_ROOT,
    TableRecord,
    is_record_path,
    table_from,
)
from anabranch.pipelines.garbage.marking.range_records import (
    RecordRow,
    may_have_records,
    read_records,
)
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.stores.required_trees import required_trees
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import entry_from

__all__ = ["RecordSources", "metadata_of", "record_sources"]

_PREFIX = encode_path(RECORDS_ROOT)
_MAX_RECORD_BYTES = 1 << 20
_THREADS = 16


class RecordSources(NamedTuple):
    """The trees of a repository whose records must lead to files that exist, and the records that
    are staged.
    """

    repository: Repository
    trees: Sequence[str]
    staged: Sequence[RecordRow]


def record_sources(
    inspected: Inspected, required_by: Mapping[str, set[str]] | None = None
) -> list[RecordSources]:
    """Returns the sources of all repositories. `required_by` has the trees whose objects must exist
    by the partition of their repository; by default they are found out.
    """
    found = []
    for repository in inspected.repositories:
        if required_by is None:
            trees = required_trees(inspected.core, repository, inspected.now)
        else:
            trees = required_by.get(repository.partition, set())
        staged = [*_staged(inspected, repository)]
        found.append(RecordSources(repository, sorted(trees), staged))
    return found


def _staged(inspected: Inspected, repository: Repository) -> Iterator[RecordRow]:
    for area in inspected.areas_of(repository):
        changes = inspected.core.staging.changes([area.token], _PREFIX, upper_bound(_PREFIX))
        try:
            for key, value in changes:
                path = decode_key(key)
                if value is not None and is_record_path(path):
                    entry = entry_from(value)
                    yield path, entry.full_address(repository.storage_namespace), entry.size
        except (AnabranchError, kernel.KernelError, ValueError):
            continue  # the check of records says so


def metadata_of(
    core: Core, blocks: BlockStore, sources: RecordSources, progress: Progress
) -> dict[str, str]:
    """Returns the S3 addresses of the metadata that records name, and the path of a record with
    each. Memory grows with the number of distinct records, which is that of commits of tables.
    """
    repository = sources.repository

    def load(row: RecordRow) -> tuple[str, TableRecord] | None:
        path, address, _ = row
        try:
            return path, table_from(blocks.read(address), repository.id, path)
        except (Corrupt, Gone, Invalid):
            return None  # no record, or an object that the check of objects misses

    loaded = parallel_map(load, _distinct_rows(core, sources, progress), threads=_THREADS)
    return {each[1].metadata: each[0] for each in loaded if each is not None}


def _distinct_rows(core: Core, sources: RecordSources, progress: Progress) -> Iterator[RecordRow]:
    """Yields the records of all trees and the staged ones, each once. Most trees have the ranges of
    the one before.
    """
    ranges: set[str] = set()
    rows: set[RecordRow] = set()
    for tree in sources.trees:
        for info in _ranges(core, sources.repository, tree):
            if info.id not in ranges and may_have_records(_PREFIX, info):
                ranges.add(info.id)
                yield from _new(_range_rows(core, sources.repository, info), rows)
        progress.advance(1)
    yield from _new(sources.staged, rows)


def _new(found: Sequence[RecordRow], known: set[RecordRow]) -> Iterator[RecordRow]:
    for row in found:
        if row not in known and row[2] <= _MAX_RECORD_BYTES:
            known.add(row)
            yield row


def _ranges(core: Core, repository: Repository, tree: str) -> Sequence[kernel.RangeInfo]:
    try:
        return core.trees.open(repository, tree).ranges()
    except (AnabranchError, kernel.KernelError, ValueError):
        return ()  # the check of tables says what is damaged


def _range_rows(core: Core, repository: Repository, info: kernel.RangeInfo) -> list[RecordRow]:
    try:
        path = core.trees.locate(repository, info.id)
        return [row for row in read_records(repository, info, path) if is_record_path(row[0])]
    except (AnabranchError, kernel.KernelError, ValueError):
        return []
