"""Check of addresses: rows may have the addresses that can be staged, and no others.

An address is checked by its folder: where the folder is admitted, so is every ordinary name in it,
and so is every ordinary folder. Each distinct folder of a batch is checked once, many of them by
their own folders, and only addresses with an odd name, or in a folder that is refused, one by one.
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

_ODD = r"^\.|\.$|[\x00-\x1f\x7f\\]"
"""Names that some stores change or reject, which are checked one by one."""

_MAX_NAME_BYTES = 200
_MAX_ADDRESS_BYTES = 1_000
"""Every store keeps names and addresses up to these sizes; larger ones are checked one by one."""

_FEW_FOLDERS = 64
"""Up to this many folders are checked one by one, more of them by their parent folders."""

_MAX_LEVELS = 8
"""How many levels of parent folders are checked, at most."""

_MAX_CACHED = 100_000
"""Folders that are cached between batches."""


class AddressCheck:
    """Admits rows whose addresses an object of the store may have, and writes each address as
    entries keep it.
    """

    def __init__(self, blocks: BlockStore) -> None:
        self._blocks = blocks
        self._folders: dict[str, str | None] = {}

    def __call__(self, batch: pa.RecordBatch) -> Checked:
        """Returns a batch with the addresses that are kept, and the problems of the others."""
        address = batch.column("physical_address")
        if not len(address):
            return Checked(batch, {})
        folder, name = _split(address)
        kept = self._kept_folders(folder.dictionary)
        plain = _is_ordinary(address, name)
        if kept.null_count:
            plain = pc.and_(plain, kept.is_valid().take(folder.indices))
        column = address
        if pc.any(pc.not_equal(kept, folder.dictionary)).as_py():
            column = pc.binary_join_element_wise(kept.take(folder.indices), name, "/")
            column = pc.if_else(plain, column, address)
        problems: dict[int, Problem] = {}
        if not pc.all(plain).as_py():
            column, problems = self._one_by_one(column, plain)
        if column is not address:
            place = batch.schema.get_field_index("physical_address")
            batch = batch.set_column(place, batch.schema.field(place), column)
        return Checked(batch, problems)

    def _one_by_one(self, column: pa.Array, plain: Any) -> tuple[pa.Array, dict[int, Problem]]:
        """Returns the column with the addresses that are not plain as they are kept, and the
        problems of those that are refused.
        """
        odd = pc.invert(plain)
        numbers = pc.indices_nonzero(odd).to_pylist()
        problems: dict[int, Problem] = {}
        kept: list[str] = []
        for number, address in zip(numbers, column.filter(odd).to_pylist(), strict=True):
            try:
                kept.append(admitted_address(self._blocks, address))
            except Invalid:
                reason = refusal(self._blocks, address)
                problems[number] = Problem(reason, reason)
                kept.append(address)
        return pc.replace_with_mask(column, odd, pa.array(kept, column.type)), problems

    def _kept_folders(self, folders: pa.Array, levels: int = _MAX_LEVELS) -> pa.Array:
        """Returns folders as `_kept_folder` does, as an array with nulls."""
        if len(folders) <= _FEW_FOLDERS or not levels:
            kept = [self._kept_folder(folder) for folder in folders.to_pylist()]
            return pa.array(kept, pa.string())
        above, name = _split(folders)
        joined = pc.binary_join_element_wise(
            self._kept_folders(above.dictionary, levels - 1).take(above.indices), name, "/"
        )
        plain = pc.and_(_is_ordinary(folders, name), joined.is_valid())
        if pc.all(plain).as_py():
            return joined
        odd = pc.invert(plain)
        one_by_one = [self._kept_folder(folder) for folder in folders.filter(odd).to_pylist()]
        return pc.replace_with_mask(joined, odd, pa.array(one_by_one, pa.string()))

    def _kept_folder(self, folder: str) -> str | None:
        """Returns the prefix of stored addresses in a folder, without the last slash; None if the
        folder is refused.
        """
        try:
            return self._folders[folder]
        except KeyError:
            pass
        try:
            kept: str | None = admitted_address(self._blocks, f"{folder}/x")[: -len("/x")]
        except Invalid:
            kept = None
        if len(self._folders) >= _MAX_CACHED:
            self._folders.clear()
        self._folders[folder] = kept
        return kept


def _split(address: pa.Array) -> tuple[pa.DictionaryArray, pa.Array]:
    """Returns the folders of addresses and the names in them; an address without a slash has
    neither.
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
    """Returns which names all stores keep unchanged in every folder."""
    length = pc.binary_length(name)
    fits = pc.and_(pc.greater(length, 0), pc.less_equal(length, _MAX_NAME_BYTES))
    fits = pc.and_(fits, pc.less_equal(pc.binary_length(address), _MAX_ADDRESS_BYTES))
    return pc.and_not(fits, pc.match_substring_regex(name, _ODD))
