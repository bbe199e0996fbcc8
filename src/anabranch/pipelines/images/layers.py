"""Layers: what each instruction adds, as a tree of its own in the build's folder.

Single objects that follow each other are one tree together, so that thousands of them cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.image_records import image_from
from anabranch.errors import NotFound
from anabranch.model.image import Pin
from anabranch.model.names import key_of
from anabranch.model.repository import Repository
from anabranch.pipelines.images.external import external_layer, require_sources
from anabranch.pipelines.images.pins import Pinned, at_line
from anabranch.pipelines.images.rekeying import Layer, Move, full_entry, rekeyed
from anabranch.pipelines.imports.ordering import records_of
from anabranch.pipelines.imports.tally import Tally
from anabranch.versioning.core import Core
from anabranch.versioning.trees import translated

__all__ = ["Layers", "size_of"]

_BETWEEN_LOOKS = 1_024


class Layers:
    """Writes layers into `folder`. With `allow_empty`, one may have no objects."""

    def __init__(
        self, core: Core, blocks: BlockStore, folder: str, tally: Tally, *, allow_empty: bool
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._folder = folder
        self._tally = tally
        self._allow_empty = allow_empty
        self.pins: list[Pin] = []
        self.trees: list[str] = []
        """The ids of the trees, the uppermost last."""
        self.shadowed = 0
        """How many single objects lie under others of the same tree."""

    def add_base(self, base: Pinned) -> None:
        """Adds the base; an image's tree is taken as it is."""
        with at_line(base.layer.line):
            image = None if base.commit is None else image_from("", base.commit)
            if image is None or base.commit is None:
                layer = self._folder_layer(base)
            else:
                layer = Layer(base.commit.metarange_id, image.plan.objects, image.plan.size)
            self._take(base, layer)

    def add(self, layers: Sequence[Pinned]) -> None:
        """Adds layers that follow each other: all single objects of repositories, or one other.
        Raises NotFound where there is nothing, Invalid for a path that cannot be.
        """
        if not _is_single(layers[0]):
            with at_line(layers[0].layer.line):
                self._take(layers[0], self._one(layers[0]))
            return
        records = {}
        for pinned in layers:
            with at_line(pinned.layer.line):
                key = key_of(pinned.layer.destination)
                self.shadowed += key in records
                records[key], size = self._object(pinned)
                self.pins.append(_pin(pinned, Layer("", 1, size)))
        self._tally.add(len(layers))
        with translated():
            ordered = [(key, records[key]) for key in sorted(records)]
            self.trees.append(kernel.write_tree(ordered, self._folder).metarange_id)

    def _take(self, pinned: Pinned, layer: Layer) -> None:
        if not layer.objects and not self._allow_empty:
            raise NotFound(
                f"{pinned.layer.source}: there is nothing to add",
                kind="nothing_to_add",
                hint="Look at the spelling, at what is excluded, and whether it is committed; "
                "a build may allow empty sources.",
            )
        external = pinned.place is None
        self.pins.append(_pin(pinned, layer, layer.metarange_id if external else ""))
        self.trees.append(layer.metarange_id)

    def _one(self, pinned: Pinned) -> Layer:
        if pinned.place is not None:
            return self._folder_layer(pinned)
        sources = require_sources(self._blocks.sources, allowed=self._blocks.config.import_support)
        sources.check(str(pinned.layer.source))
        with translated():
            return external_layer(
                pinned.layer, sources, self._core.trees, self._folder, self._tally
            )

    def _folder_layer(self, pinned: Pinned) -> Layer:
        repository, tree = self._source(pinned)
        move = Move(
            b"" if pinned.place is None else key_of(pinned.place.key),
            key_of(pinned.layer.destination),
            repository.storage_namespace,
            pinned.layer.exclude,
        )
        with translated():
            return rekeyed(tree, move, self._folder, self._tally)

    def _object(self, pinned: Pinned) -> tuple[tuple[bytes, bytes], int]:
        """Returns the entry of a single object and its size."""
        repository, tree = self._source(pinned)
        key = b"" if pinned.place is None else key_of(pinned.place.key)
        with translated():
            value = tree.get(key)
            is_folder = value is None and tree.contains_prefix(key + b"/")
        if value is None:
            raise NotFound(
                f"{pinned.layer.source}: there is no such object",
                kind="object_not_found",
                hint="The address of a folder ends with a slash." if is_folder else "",
            )
        return full_entry(value, repository.storage_namespace)

    def _source(self, pinned: Pinned) -> tuple[Repository, kernel.Tree]:
        if pinned.repository is None or pinned.commit is None:
            raise ValueError(f"{pinned.address} lies in no repository")
        tree = self._core.trees.open(pinned.repository, pinned.commit.metarange_id)
        return pinned.repository, tree


def size_of(tree: kernel.Tree, look: Callable[[], None]) -> int:
    """Returns the size of all objects of a tree, in bytes; `look` raises to stop."""
    total = 0
    for number, (_, value) in enumerate(records_of(tree)):
        if not number % _BETWEEN_LOOKS:
            look()
        total += kernel.decode_entry(value[1])[4]
    return total


def _is_single(pinned: Pinned) -> bool:
    return pinned.place is not None and not pinned.layer.is_prefix


def _pin(pinned: Pinned, layer: Layer, digest: str = "") -> Pin:
    return Pin(
        source=str(pinned.layer.source),
        pinned=pinned.address,
        destination=pinned.layer.destination,
        exclude=pinned.layer.exclude,
        objects=layer.objects,
        size=layer.size,
        digest=digest,
        line=pinned.layer.line,
    )
