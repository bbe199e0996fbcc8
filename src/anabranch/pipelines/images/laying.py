"""Laying layers over each other: in this process, or however else it is done.

Whoever lays them, the tree is that of `kernel.write_layers`, byte for byte, and so are the counts:
an image's digest does not tell where it was built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from anabranch import _kernel as kernel
from anabranch.model.names import MAX_PATH_BYTES
from anabranch.pipelines.images.layers import Laid, LayerCounts
from anabranch.pipelines.imports.tally import Tally
from anabranch.versioning.entries import unreadable
from anabranch.versioning.trees import translated

__all__ = ["Lay", "Written", "lay_here"]


class Written(NamedTuple):
    """A tree that was written: its id, how many entries it has, and what each layer gave. Its
    tables are in the folder or in the repository of images.
    """

    metarange_id: str
    objects: int
    counts: Sequence[LayerCounts]


Lay: TypeAlias = Callable[[Sequence[Laid], str, Tally], Written]
"""Writes the tree of layers into a folder, and tells a tally how many entries were passed."""


def lay_here(laid: Sequence[Laid], folder: str, tally: Tally) -> Written:
    """Lays layers in this process. Raises Corrupt, Gone, and what the tally raises."""
    layers = [each.layer for each in laid]
    try:
        with translated():
            written, counts = kernel.write_layers(
                layers, folder, longest_key=MAX_PATH_BYTES, look=tally.add
            )
    except kernel.KernelError as error:
        raise unreadable(error) from error
    return Written(written.metarange_id, written.count, counts)
