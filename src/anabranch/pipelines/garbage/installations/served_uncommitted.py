"""What is not committed, as a server writes it down: Parquet files in the store, which are removed
when they have been read.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt, Denied
from anabranch.model.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.garbage.installations.installation import StagedRows
from anabranch.pipelines.garbage.installations.requests import Asking

__all__ = ["ServedUncommitted"]

_ADDRESS = "physical_address"
_PLACE = ("repository", "branch", "path")


class ServedUncommitted:
    """Uploads in parts and staged changes of all repositories of a server, whose store is
    `blocks`.
    """

    def __init__(self, asking: Asking, blocks: BlockStore) -> None:
        self._asking = asking
        self._blocks = blocks

    def hashes(self, collected: Repository) -> Iterator[Hashes]:
        """Yields the hashes of the addresses in the namespace of a repository. Raises Corrupt."""
        with self._files(collected) as files:
            for file in files:
                yield hash_addresses(_texts(self._table(file, [_ADDRESS]), _ADDRESS))

    def rows(self, collected: Repository) -> Iterator[StagedRows] | None:
        """Returns the staged entries with addresses in the namespace of a repository; None from a
        server that does not write down paths, or where the caller may not know the paths in all
        repositories. Raises Corrupt.
        """
        found = self._rows(collected)
        try:
            first = next(found, None)
        except (Denied, _WithoutPaths):
            return None
        return itertools.chain([] if first is None else [first], found)

    @contextmanager
    def _files(self, collected: Repository, *, paths: bool = False) -> Iterator[list[str]]:
        """Has the server write files, gives their addresses, and removes them."""
        token = ""
        files: set[str] = set()
        query = {"paths": "true"} if paths else None
        try:
            while True:
                answer = self._asking.change(
                    *("POST", collected.id, "gc", "prepare_uncommited"),
                    body={"continuation_token": token},
                    query=query,
                )
                page = json.loads(answer)
                if page["gc_uncommitted_location"]:
                    folder = self._blocks.unqualify(page["gc_uncommitted_location"].rstrip("/"))
                    files.update(found.address for found in self._blocks.list(f"{folder}/"))
                token = page.get("continuation_token", "")
                if not token:
                    break
            yield sorted(files)
        finally:
            self._blocks.delete(files)

    def _rows(self, collected: Repository) -> Iterator[StagedRows]:
        with self._files(collected, paths=True) as files:
            for file in files:
                table = self._table(file)
                if not set(_PLACE) <= set(table.column_names):
                    raise _WithoutPaths
                yield from _by_branch(table)

    def _table(self, file: str, columns: Sequence[str] | None = None) -> pa.Table:
        raw = pa.py_buffer(self._blocks.read(file))
        try:
            return pq.read_table(pa.BufferReader(raw), columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise Corrupt(f"{file}: cannot be read: {error}", path=file) from error


class _WithoutPaths(Exception):
    """The server does not write down paths."""


def _by_branch(table: pa.Table) -> Iterator[StagedRows]:
    """Yields the rows of each branch, which follow one another."""
    repositories, branches, paths = (_texts(table, name) for name in _PLACE)
    addresses = _texts(table, _ADDRESS)
    together = pc.binary_join_element_wise(repositories, branches, "/")
    codes = together.dictionary_encode().indices.to_numpy()
    starts = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
    for start, end in itertools.pairwise([*starts, len(codes)]):
        branch = branches[start].as_py()
        if branch:  # of uploads in parts it is empty
            part = slice(start, end)
            yield StagedRows(repositories[start].as_py(), branch, paths[part], addresses[part])


def _texts(table: pa.Table, name: str) -> pa.StringArray:
    return table.column(name).cast(pa.string()).combine_chunks()
