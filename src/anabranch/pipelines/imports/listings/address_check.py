"""Check of the addresses of rows: only addresses that clients may stage are accepted.

If a folder is accepted, so is every ordinary name in it, object or folder. So each distinct folder
of a batch is checked once, or by its parent folder if there are many. Only addresses with unusual
names, and those in rejected folders, are checked one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.admitted_addresses import admitted_address, refusal
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid
from anabranch.pipelines.imports.listings.row_checks import Checked, Problem

__all__ = ["AddressCheck"]

_UNUSUAL = r"^\.|\.$|[\x00-\x1f\x7f\\]"
"""Unusual names, which some stores change or reject. They are checked one by one."""

_MAX_NAME_BYTES = 200
_MAX_ADDRESS_BYTES = 1_000
"""Every store accepts names and addresses up to these sizes; longer ones are checked one by one."""

_MAX_SINGLE_CHECKS = 64
"""Up to this many folders are checked one by one, more of them by their parent folders."""

_MAX_LEVELS = 8
"""The number of levels of parent folders that are checked."""

_MAX_CACHED_FOLDERS = 100_000
"""The number of folders that are cached between batches."""


class AddressCheck:
    """Accepts rows whose addresses may be staged, and normalizes the addresses as in entries."""

    def __init__(self, blocks: BlockStore) -> None:
        self._blocks = blocks
        self._folders: dict[str, str | None] = {}

    def __call__(self, batch: pa.RecordBatch) -> Checked:
        """Returns the batch with normalized addresses, and the problems of the rejected rows."""
        address = batch.column("physical_address")
        if not len(address):
            return Checked(batch, {})
        folder, name = _split(address)
        normalized = self._normalize_folders(folder.dictionary)
        ordinary = _is_ordinary(address, name)
        if normalized.null_count:
            ordinary = pc.and_(ordinary, normalized.is_valid().take(folder.indices))
        column = address
        if pc.any(pc.not_equal(normalized, folder.dictionary)).as_py():
            column = pc.binary_join_element_wise(normalized.take(folder.indices), name, "/")
            column = pc.if_else(ordinary, column, address)
        problems: dict[int, Problem] = {}
        if not pc.all(ordinary).as_py():
            column, problems = self._check_unusual(column, ordinary)
        if column is not address:
            index = batch.schema.get_field_index("physical_address")
            batch = batch.set_column(index, batch.schema.field(index), column)
        return Checked(batch, problems)

    def _check_unusual(
        self, column: pa.Array, ordinary: Any
    ) -> tuple[pa.Array, dict[int, Problem]]:
        """Returns the column with the addresses that are not ordinary normalized, and the problems
        of those that are rejected.
        """
        unusual = pc.invert(ordinary)
        rows = pc.indices_nonzero(unusual).to_pylist()
        problems: dict[int, Problem] = {}
        normalized: list[str] = []
        for row, address in zip(rows, column.filter(unusual).to_pylist(), strict=True):
            try:
                normalized.append(admitted_address(self._blocks, address))
            except Invalid:
                reason = refusal(self._blocks, address)
                problems[row] = Problem(reason, reason)
                normalized.append(address)
        return pc.replace_with_mask(column, unusual, pa.array(normalized, column.type)), problems

    def _normalize_folders(self, folders: pa.Array, levels: int = _MAX_LEVELS) -> pa.Array:
        """Returns the results of `_normalize_folder`, as an array with nulls."""
        if len(folders) <= _MAX_SINGLE_CHECKS or not levels:
            normalized = [self._normalize_folder(folder) for folder in folders.to_pylist()]
            return pa.array(normalized, pa.string())
        parent, name = _split(folders)
        joined = pc.binary_join_element_wise(
            self._normalize_folders(parent.dictionary, levels - 1).take(parent.indices), name, "/"
        )
        ordinary = pc.and_(_is_ordinary(folders, name), joined.is_valid())
        if pc.all(ordinary).as_py():
            return joined
        unusual = pc.invert(ordinary)
        checked = [self._normalize_folder(folder) for folder in folders.filter(unusual).to_pylist()]
        return pc.replace_with_mask(joined, unusual, pa.array(checked, pa.string()))

    def _normalize_folder(self, folder: str) -> str | None:
        """Returns the normalized prefix of the addresses in a folder, without the last slash; None
        if the folder is rejected.
        """
        try:
            return self._folders[folder]
        except KeyError:
            pass
        try:
            normalized: str | None = admitted_address(self._blocks, f"{folder}/x")[: -len("/x")]
        except Invalid:
            normalized = None
        if len(self._folders) >= _MAX_CACHED_FOLDERS:
            self._folders.clear()
        self._folders[folder] = normalized
        return normalized


def _split(address: pa.Array) -> tuple[pa.DictionaryArray, pa.Array]:
    """Splits addresses at the last slash into folders and names; both are empty for an address
    without a slash.
    """
    parts = pc.split_pattern(address, "/", max_splits=1, reverse=True)
    whole = pc.equal(pc.list_value_length(parts), 2)
    if not pc.all(whole).as_py():
        parts = pc.split_pattern(pc.if_else(whole, address, "/"), "/", max_splits=1, reverse=True)
    values = parts.flatten()
    folders = values.take(pa.array(np.arange(0, len(values), 2)))
    names = values.take(pa.array(np.arange(1, len(values), 2)))
    return folders.dictionary_encode(), names


def _is_ordinary(address: pa.Array, name: pa.Array) -> Any:
    """Returns which names every store accepts unchanged, in any folder."""
    length = pc.binary_length(name)
    fits = pc.and_(pc.greater(length, 0), pc.less_equal(length, _MAX_NAME_BYTES))
    fits = pc.and_(fits, pc.less_equal(pc.binary_length(address), _MAX_ADDRESS_BYTES))
    return pc.and_not(fits, pc.match_substring_regex(name, _UNUSUAL))
