"""Uncommitted addresses as a server lists them: in Parquet files in the store, which are removed
after they have been read.
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
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.garbage.installations.gc_roots import StagedRows
from anabranch.pipelines.garbage.installations.requests import ServerRequests

__all__ = ["ServedUncommitted"]

_ADDRESS = "physical_address"
_LOCATION_COLUMNS = ("repository", "branch", "path")


class ServedUncommitted:
    """Multipart uploads and staged changes of all repositories of a server. `blocks` is the
    server's store.
    """

    def __init__(self, requests: ServerRequests, blocks: BlockStore) -> None:
        self._requests = requests
        self._blocks = blocks

    def hashes(self, collected: Repository) -> Iterator[Hashes]:
        """Yields the hashes of the addresses in a repository's namespace. Raises Corrupt."""
        with self._files(collected) as files:
            for file in files:
                yield hash_addresses(_texts(self._table(file, [_ADDRESS]), _ADDRESS))

    def rows(self, collected: Repository) -> Iterator[StagedRows] | None:
        """Returns the staged entries with addresses in a repository's namespace; None if the server
        does not list paths, or the user may not read the paths of all repositories. Raises Corrupt.
        """
        rows = self._rows(collected)
        try:
            first = next(rows, None)
        except (Denied, _PathsMissing):
            return None
        return itertools.chain([] if first is None else [first], rows)

    @contextmanager
    def _files(self, collected: Repository, *, paths: bool = False) -> Iterator[list[str]]:
        """Makes the server write the files and yields their addresses; removes them on exit."""
        token = ""
        files: set[str] = set()
        query = {"paths": "true"} if paths else None
        try:
            while True:
                response = self._requests.change(
                    *("POST", collected.id, "gc", "prepare_uncommited"),
                    body={"continuation_token": token},
                    query=query,
                )
                page = json.loads(response)
                if page["gc_uncommitted_location"]:
                    folder = self._blocks.unqualify(page["gc_uncommitted_location"].rstrip("/"))
                    files.update(block.address for block in self._blocks.list(f"{folder}/"))
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
                if not set(_LOCATION_COLUMNS) <= set(table.column_names):
                    raise _PathsMissing
                yield from _by_branch(table)

    def _table(self, file: str, columns: Sequence[str] | None = None) -> pa.Table:
        raw = pa.py_buffer(self._blocks.read(file))
        try:
            return pq.read_table(pa.BufferReader(raw), columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise Corrupt(f"{file}: cannot be read: {error}", path=file) from error


class _PathsMissing(Exception):
    """The server does not list paths."""


def _by_branch(table: pa.Table) -> Iterator[StagedRows]:
    """Yields the staged entries of each branch, whose rows are adjacent in the table."""
    repositories, branches, paths = (_texts(table, name) for name in _LOCATION_COLUMNS)
    addresses = _texts(table, _ADDRESS)
    qualified_branches = pc.binary_join_element_wise(repositories, branches, "/")
    codes = qualified_branches.dictionary_encode().indices.to_numpy()
    starts = np.flatnonzero(np.diff(codes, prepend=-1)).tolist()
    for start, end in itertools.pairwise([*starts, len(codes)]):
        branch = branches[start].as_py()
        if branch:  # it is empty for multipart uploads
            rows = slice(start, end)
            yield StagedRows(repositories[start].as_py(), branch, paths[rows], addresses[rows])


def _texts(table: pa.Table, name: str) -> pa.StringArray:
    return table.column(name).cast(pa.string()).combine_chunks()
