"""Layers of an image: parts of trees, prepared for the kernel's overlay.

Addresses of entries from repositories are made absolute, so that they can be read from any
repository. Entries of images already have absolute addresses; their ranges are reused without being
read if paths do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images.records import image_from
from anabranch.errors import Invalid, NotFound
from anabranch.model.image import Pin
from anabranch.model.names import MAX_PATH_BYTES, decode_key, encode_path
from anabranch.model.uri import IMAGES
from anabranch.patterns.glob import glob
from anabranch.pipelines.images.external import external_tree
from anabranch.pipelines.images.resolve_references import Pinned, at_line
from anabranch.pipelines.imports.allowed_sources import require_sources
from anabranch.pipelines.jobs.progress import Progress
from anabranch.versioning.core import Core
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["Counts", "LayerCounts", "Layers", "PreparedLayer", "exclusion_filter"]

_SHOWN = 5


class Counts(NamedTuple):
    """Counts of a layer's objects, with the fields of `kernel.LayerCounts`."""

    found: int = 0
    skipped: int = 0
    shadowed: int = 0
    shadowed_keys: Sequence[bytes] = ()
    invalid: int = 0
    invalid_keys: Sequence[bytes] = ()
    size: int = 0
    shadowed_size: int = 0


LayerCounts: TypeAlias = kernel.LayerCounts | Counts


class PreparedLayer(NamedTuple):
    """A layer for the kernel, its pinned source, the size of its objects in bytes if it is known
    in advance, and the digest of external objects. `collectable` is the path of an external object
    that garbage collection may remove, "" for none.
    """

    layer: kernel.Layer
    pinned: Pinned
    size: int = 0
    digest: str = ""
    collectable: str = ""

    def pin(self, counts: LayerCounts) -> Pin:
        """Returns the description of the layer that is stored in the image."""
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
    """Prepares layers; the trees of external objects are written into `folder`. With
    `allow_empty`, a layer may have no objects.
    """

    def __init__(
        self, core: Core, blocks: BlockStore, folder: str, progress: Progress, *, allow_empty: bool
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._folder = folder
        self._progress = progress
        self._allow_empty = allow_empty

    def prepare(self, pinned: Sequence[Pinned]) -> list[PreparedLayer]:
        """Returns the prepared layers. Raises NotFound for sources without objects, and the errors
        of the stores.
        """
        layers = []
        for source in pinned:
            with at_line(source.layer.line), translate_errors():
                layers.append(
                    self._external_layer(source)
                    if source.place is None
                    else self._committed_layer(source)
                )
        return layers

    def check(self, layer: PreparedLayer, counts: LayerCounts) -> None:
        """Raises Invalid for invalid paths, NotFound if all objects were excluded."""
        with at_line(layer.pinned.layer.line):
            if counts.invalid:
                shown = ", ".join(
                    repr(decode_key(key)[:200]) for key in counts.invalid_keys[:_SHOWN]
                )
                raise Invalid(
                    f"{counts.invalid} of the objects would have an empty path in the image, or "
                    f"one of more than {MAX_PATH_BYTES:,} bytes: {shown}",
                    kind="unfit_names",
                    hint="Choose a shorter destination.",
                )
            if not counts.found:
                self._require_some(layer.pinned)

    def _committed_layer(self, pinned: Pinned) -> PreparedLayer:
        place, repository, commit = pinned.place, pinned.repository, pinned.commit
        if place is None or repository is None or commit is None:
            raise ValueError(f"{pinned.address} is not in a repository")
        tree = self._core.trees.open(repository, commit.metarange_id)
        prefix, single = encode_path(place.key), not pinned.layer.is_prefix
        if single and tree.get(prefix) is None:
            is_folder = tree.contains_prefix(prefix + b"/")
            raise NotFound(
                f"{pinned.layer.source}: there is no such object",
                kind="object_not_found",
                hint="Add a slash to the address of a folder." if is_folder else "",
            )
        if not single and not tree.contains_prefix(prefix):
            self._require_some(pinned)
        self._core.swept_trees.require_stored(
            repository, commit.metarange_id, prefix=prefix, what=f"commit {commit.id}"
        )
        image = image_from("", commit) if repository.id == IMAGES and not prefix else None
        layer = kernel.Layer(
            tree,
            prefix=prefix,
            target=encode_path(pinned.layer.destination),
            single=single,
            # all addresses of an image are absolute, and its size is known
            namespace=repository.storage_namespace if image is None else None,
            leave_out=exclusion_filter(pinned.layer.exclude),
        )
        return PreparedLayer(layer, pinned, image.plan.size if image else 0)

    def _external_layer(self, pinned: Pinned) -> PreparedLayer:
        sources = require_sources(self._blocks)
        sources.check(str(pinned.layer.source))
        written = external_tree(
            pinned.layer, sources, self._core.trees, self._folder, self._progress
        )
        tree = self._core.trees.open_in(self._folder, written.metarange_id)
        layer = kernel.Layer(tree)
        return PreparedLayer(layer, pinned, written.size, written.metarange_id, written.collectable)

    def _require_some(self, pinned: Pinned) -> None:
        if not self._allow_empty:
            raise NotFound(
                f"{pinned.layer.source}: there is nothing to add",
                kind="nothing_to_add",
                hint="Check the spelling, the --exclude patterns, and that the objects are "
                "committed; or allow empty sources (allow_empty).",
            )


def exclusion_filter(patterns: Sequence[str]) -> Callable[[bytes], bool] | None:
    """Returns a predicate that returns whether any pattern matches a name; None if there are no
    patterns.
    """
    if not patterns:
        return None
    compiled = [glob(pattern) for pattern in patterns]

    def is_excluded(name: bytes) -> bool:
        text = decode_key(name)
        return any(pattern.matches(text) for pattern in compiled)

    return is_excluded
