"""The addresses and sizes in a range of a tree, as columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.files.work_folders import WorkFolder
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.versioning.trees.trees import Trees, translate_errors

__all__ = ["RangeEntries", "entries_of", "read_range"]


class RangeEntries(NamedTuple):
    """Hashes of the addresses and sizes in bytes, of the entries of one range."""

    hashes: Hashes
    sizes: npt.NDArray[np.int64]


def read_range(trees: Trees, repository: Repository, info: kernel.RangeInfo) -> RangeEntries:
    """Returns the entries of a range. Raises Gone for a missing range and Corrupt for a damaged
    one.
    """
    path = trees.locate(repository, info.id)
    with WorkFolder("storage") as folder, translate_errors():
        metarange_id = kernel.write_metarange([info], folder)
        paths = {metarange_id: f"{folder}/{metarange_id}", info.id: path}
        tree = kernel.Tables().tree(metarange_id, paths.__getitem__)
        return entries_of(pa.RecordBatchReader.from_stream(tree.scan()))


def entries_of(batches: Iterable[pa.RecordBatch]) -> RangeEntries:
    """Returns the entries of batches of a tree."""
    hashes, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for batch in batches:
        hashes.append(hash_addresses(batch.column("physical_address")))
        sizes.append(batch.column("size").to_numpy())
    return RangeEntries(np.concatenate(hashes), np.concatenate(sizes))
