"""Layers: the parts of trees that an image is made of, as the kernel lays them over each other.

Entries of repositories get full addresses, so that they can be read from any repository; what
is from an image has them, and where its paths stay too, whole ranges of it are taken unread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.image_records import image_from
from anabranch.errors import Invalid, NotFound
from anabranch.model.glob import glob
from anabranch.model.image import Pin
from anabranch.model.names import MAX_PATH_BYTES, key_of, path_of
from anabranch.model.uri import IMAGES
from anabranch.pipelines.images.external import external_tree
from anabranch.pipelines.images.pins import Pinned, at_line
from anabranch.pipelines.imports.allowed_sources import require_sources
from anabranch.pipelines.imports.tally import Tally
from anabranch.versioning.core import Core
from anabranch.versioning.trees import translated

__all__ = ["Counts", "Laid", "LayerCounts", "Layers", "left_out_by"]

_SHOWN = 5


class Counts(NamedTuple):
    """What was met in a layer, as `kernel.LayerCounts` has it."""

    found: int = 0
    left_out: int = 0
    shadowed: int = 0
    shadowed_keys: Sequence[bytes] = ()
    unfit: int = 0
    unfit_keys: Sequence[bytes] = ()
    size: int = 0
    shadowed_size: int = 0


LayerCounts: TypeAlias = kernel.LayerCounts | Counts


class Laid(NamedTuple):
    """A layer as the kernel takes it, what it is from, the size of its objects where that is known
    before, and the digest of those that lie in no repository.
    """

    layer: kernel.Layer
    pinned: Pinned
    size: int = 0
    digest: str = ""

    def pin(self, counts: LayerCounts) -> Pin:
        """Returns what is written of the layer in the image."""
        declared = self.pinned.layer
        return Pin(
            source=str(declared.source),
            pinned=self.pinned.address,
            destination=declared.destination,
            exclude=declared.exclude,
            objects=counts.found,
            size=counts.size or self.size,
            digest=self.digest,
            line=declared.line,
        )


class Layers:
    """Prepares layers; trees of what lies in no repository are written into `folder`. With
    `allow_empty`, a layer may have no objects.
    """

    def __init__(
        self, core: Core, blocks: BlockStore, folder: str, tally: Tally, *, allow_empty: bool
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._folder = folder
        self._tally = tally
        self._allow_empty = allow_empty

    def of(self, pinned: Sequence[Pinned]) -> list[Laid]:
        """Returns the layers, ready to be laid. Raises NotFound where there is nothing, and what
        stores raise.
        """
        laid = []
        for each in pinned:
            with at_line(each.layer.line), translated():
                laid.append(self._external(each) if each.place is None else self._inside(each))
        return laid

    def check(self, laid: Laid, counts: LayerCounts) -> None:
        """Raises Invalid for paths that cannot be, NotFound if all was left out."""
        with at_line(laid.pinned.layer.line):
            if counts.unfit:
                shown = ", ".join(repr(path_of(key)[:200]) for key in counts.unfit_keys[:_SHOWN])
                raise Invalid(
                    f"{counts.unfit} of the objects would have no path in the image, or one of "
                    f"more than {MAX_PATH_BYTES:,} bytes: {shown}",
                    kind="unfit_names",
                    hint="Choose a shorter destination.",
                )
            if not counts.found:
                self._require_some(laid.pinned)

    def _inside(self, pinned: Pinned) -> Laid:
        place, repository, commit = pinned.place, pinned.repository, pinned.commit
        if place is None or repository is None or commit is None:
            raise ValueError(f"{pinned.address} lies in no repository")
        tree = self._core.trees.open(repository, commit.metarange_id)
        prefix, single = key_of(place.key), not pinned.layer.is_prefix
        if single and tree.get(prefix) is None:
            is_folder = tree.contains_prefix(prefix + b"/")
            raise NotFound(
                f"{pinned.layer.source}: there is no such object",
                kind="object_not_found",
                hint="The address of a folder ends with a slash." if is_folder else "",
            )
        if not single and not tree.contains_prefix(prefix):
            self._require_some(pinned)
        image = image_from("", commit) if repository.id == IMAGES and not prefix else None
        layer = kernel.Layer(
            tree,
            prefix=prefix,
            target=key_of(pinned.layer.destination),
            single=single,
            # a whole image has full addresses only, and its size is known
            namespace=repository.storage_namespace if image is None else None,
            leave_out=left_out_by(pinned.layer.exclude),
        )
        return Laid(layer, pinned, image.plan.size if image else 0)

    def _external(self, pinned: Pinned) -> Laid:
        sources = require_sources(self._blocks)
        sources.check(str(pinned.layer.source))
        metarange_id, size = external_tree(
            pinned.layer, sources, self._core.trees, self._folder, self._tally
        )
        tree = self._core.trees.open_in(self._folder, metarange_id)
        return Laid(kernel.Layer(tree), pinned, size, metarange_id)

    def _require_some(self, pinned: Pinned) -> None:
        if not self._allow_empty:
            raise NotFound(
                f"{pinned.layer.source}: there is nothing to add",
                kind="nothing_to_add",
                hint="Look at the spelling, at what is excluded, and whether it is committed; "
                "a build may allow empty sources.",
            )


def left_out_by(patterns: Sequence[str]) -> Callable[[bytes], bool] | None:
    """Returns what says of a name whether one of the patterns excludes it; None without any."""
    if not patterns:
        return None
    compiled = [glob(pattern) for pattern in patterns]

    def left_out(name: bytes) -> bool:
        text = path_of(name)
        return any(pattern.matches(text) for pattern in compiled)

    return left_out
