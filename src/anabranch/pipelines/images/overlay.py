"""Overlay of an image's layers: later layers replace the objects of earlier ones.

Every implementation writes the tree of `kernel.write_layers`, byte for byte, and returns its
counts, so that an image's digest does not depend on the engine that built it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from anabranch import _kernel as kernel
from anabranch.model.names import MAX_PATH_BYTES
from anabranch.pipelines.images.layers import LayerCounts, PreparedLayer
from anabranch.pipelines.jobs.progress import Progress
from anabranch.versioning.records.entries import unreadable
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["OverlayWriter", "Written", "write_overlay"]


class Written(NamedTuple):
    """A written tree: its id, the number of its entries, and the counts of each layer. Its tables
    are in the folder or in the repository of images.
    """

    metarange_id: str
    objects: int
    counts: Sequence[LayerCounts]


OverlayWriter: TypeAlias = Callable[[Sequence[PreparedLayer], str, Progress], Written]
"""Writes the tree of layers into a folder, and reports how many entries were read."""


def write_overlay(layers: Sequence[PreparedLayer], folder: str, progress: Progress) -> Written:
    """Writes the overlay in this process. Raises Corrupt, Gone, and the errors of `progress`."""
    inputs = [prepared.layer for prepared in layers]
    try:
        with translate_errors():
            written, counts = kernel.write_layers(
                inputs, folder, longest_key=MAX_PATH_BYTES, look=progress.advance
            )
    except kernel.KernelError as error:
        raise unreadable(error) from error
    return Written(written.metarange_id, written.count, counts)
