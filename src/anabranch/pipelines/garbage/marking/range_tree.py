"""A tree of one range, for reading that range alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch import _kernel as kernel
from anabranch.model.repository import Repository
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.versioning.trees import translate_errors
from anabranch.work_folders import WorkFolder

__all__ = ["range_tree"]


@contextmanager
def range_tree(
    installation: Installation, repository: Repository, info: kernel.RangeInfo
) -> Iterator[kernel.Tree]:
    """Returns a tree that has one range of a repository, open while this is entered. Raises Gone
    for a range that is missing and Corrupt for a damaged one.
    """
    place = installation.locate(repository, info.id)
    with WorkFolder("gc") as folder, translate_errors():
        metarange_id = kernel.write_metarange([info], folder)
        paths = {metarange_id: f"{folder}/{metarange_id}", info.id: place}
        yield kernel.Tables().tree(metarange_id, paths.__getitem__)
