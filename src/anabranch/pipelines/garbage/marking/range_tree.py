"""A tree that consists of one range, to read that range alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch import _kernel as kernel
from anabranch.files.work_folders import WorkFolder
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["range_tree"]


@contextmanager
def range_tree(
    installation: Installation, repository: Repository, info: kernel.RangeInfo
) -> Iterator[kernel.Tree]:
    """Returns a tree that consists of one range of a repository, open while the context is entered.
    Raises Gone for a missing range and Corrupt for a damaged one.
    """
    table_path = installation.locate(repository, info.id)
    with WorkFolder("gc") as folder, translate_errors():
        metarange_id = kernel.write_metarange([info], folder)
        paths = {metarange_id: f"{folder}/{metarange_id}", info.id: table_path}
        yield kernel.Tables().tree(metarange_id, paths.__getitem__)
