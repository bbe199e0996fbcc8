"""A tree that consists of one range, to read that range alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch import _kernel as kernel
from anabranch.files.work_folders import WorkFolder
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["range_tree"]


@contextmanager
def range_tree(info: kernel.RangeInfo, path: str) -> Iterator[kernel.Tree]:
    """Returns a tree that consists of one range, whose table is the file at `path`, open while the
    context is entered. Raises Gone for a missing range and Corrupt for a damaged one.
    """
    with WorkFolder("gc") as folder, translate_errors():
        metarange_id = kernel.write_metarange([info], folder)
        paths = {metarange_id: f"{folder}/{metarange_id}", info.id: path}
        yield kernel.Tables().tree(metarange_id, paths.__getitem__)
