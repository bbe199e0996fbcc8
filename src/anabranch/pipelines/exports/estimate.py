"""An estimate of what an export will copy, without reading all objects of the commit."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.exports.changes import changes
from anabranch.pipelines.exports.destination import Destination
from anabranch.pipelines.exports.state import read_state
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import entry_from
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["ExportEstimate", "estimate_export"]

_SAMPLE = 1_000
"""The number of changed objects by whose mean size the bytes are estimated."""


class ExportEstimate(NamedTuple):
    """The objects that an export may copy, at most, and their bytes."""

    objects: int
    bytes: int


def estimate_export(
    core: Core,
    repository: str,
    reference: str,
    destination: Destination,
    *,
    everything: bool = False,
) -> ExportEstimate:
    """Returns the number of objects in the ranges of a commit that the destination does not have,
    and their bytes, estimated by the size of the first ones. Nothing is written. Raises NotFound,
    and Corrupt for an unreadable state or table.
    """
    stored = core.repositories.get(repository)
    state = None if everything else read_state(destination)
    ours = state is not None and state.repository == stored.id
    base = _tree(core, stored, state.complete if state is not None and ours else "")
    tree = _tree(core, stored, core.references.commit(stored, reference).id)
    with translate_errors():
        present = {info.id for info in base.ranges()}
        objects = sum(info.count for info in tree.ranges() if info.id not in present)
    values = (value for _, value in changes(base, [tree]) if value is not None)
    sizes = [entry_from(value).size for value in itertools.islice(values, _SAMPLE)]
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    return ExportEstimate(objects, round(objects * mean))


def _tree(core: Core, repository: Repository, commit_id: str) -> kernel.Tree:
    if not commit_id:
        return core.trees.open(repository, kernel.EMPTY_TREE_ID)
    return core.objects.tree(repository, commit_id)
