"""Planning an image: everything but the commit. What a Lakefile names is found and pinned, written
as layers into a folder of the build's own, and laid over each other there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.image_records import digest_of, image_digest
from anabranch.errors import Invalid
from anabranch.model.commit import Commit
from anabranch.model.image import ImagePlan, Remark
from anabranch.model.lakefile import Lakefile
from anabranch.model.repository import Repository
from anabranch.pipelines.images.layers import Layers, size_of
from anabranch.pipelines.images.overlay import Overlay
from anabranch.pipelines.images.pins import Pinned, Pinning
from anabranch.pipelines.imports.tally import Tally
from anabranch.versioning.core import Core
from anabranch.versioning.trees import translated

__all__ = ["ImageRequest", "Planned", "plan_image"]


class ImageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be built: a Lakefile that has been read and its text, under which tag, and for
    whom. `strict` refuses references that may move, `allow_empty` takes sources without objects.
    """

    tag: str
    lakefile: Lakefile
    text: str
    creator: str
    strict: bool = False
    allow_empty: bool = False


class Planned(NamedTuple):
    """A plan, the tables of its tree that are new in the folder, the base image's commit if it
    has one, and what it is from: all of that must still be there when the image is made.
    """

    plan: ImagePlan
    tables: list[str]
    base: Commit | None
    sources: Sequence[Pinned]

    @property
    def metarange_id(self) -> str:
        """The tree's id."""
        return self.plan.metarange_id


def plan_image(
    core: Core,
    blocks: BlockStore,
    images: Repository | None,
    request: ImageRequest,
    folder: str,
    tally: Tally,
) -> Planned:
    """Plans an image: new tables are written into `folder`, beside those of the repository
    `images`, if there is one yet.

    Raises NotFound for what is not there and for sources without objects, Invalid for what cannot
    be in an image, Gone where a source is lost, and what stores and the tally raise.
    """
    pinning = Pinning(core, request.tag, strict=request.strict)
    lakefile = request.lakefile
    base = pinning.base(lakefile)
    pinned = pinning.layers(lakefile)
    layers = Layers(core, blocks, folder, tally, allow_empty=request.allow_empty)
    if base is not None:
        layers.add_base(base)
    for group in _together(pinned):
        layers.add(group)

    def open_tree(metarange_id: str) -> kernel.Tree:
        if images is None:
            return core.trees.open_in(folder, metarange_id)
        return core.trees.open_over(folder, images, metarange_id)

    overlay = Overlay(folder, open_tree)
    with translated():
        metarange_id = overlay.of(layers.trees)
        tree = open_tree(metarange_id)
    shadowed = overlay.shadowed + layers.shadowed
    size = sum(pin.size for pin in layers.pins)
    if shadowed:
        with translated():
            size = size_of(tree, tally.look)
        pinning.remarks.append(_shadowing(shadowed, overlay))
    if not len(tree) and not request.allow_empty:
        raise Invalid(
            "the image would hold nothing",
            kind="empty_image",
            hint="ADD something; a build may allow empty images.",
        )
    is_image = base is not None and base.commit is not None and bool(digest_of(base.commit))
    base_commit = base.commit if base is not None and is_image else None
    base_digest = digest_of(base_commit) if base_commit else ""
    plan = ImagePlan(
        digest=image_digest(metarange_id, base_digest, lakefile.labels, layers.pins),
        metarange_id=metarange_id,
        objects=len(tree),
        size=size,
        shadowed=shadowed,
        base=base_digest,
        labels=lakefile.labels,
        pins=tuple(layers.pins),
        lakefile=request.text,
        arguments={argument.name: argument.value for argument in lakefile.arguments},
        remarks=tuple(pinning.remarks),
    )
    sources = [each for each in (base, *pinned) if each is not None]
    return Planned(plan, _tables(tree, folder), base_commit, sources)


def _together(pinned: Sequence[Pinned]) -> Iterator[list[Pinned]]:
    """Yields layers that are one tree: single objects of repositories that follow each other, and
    every other layer by itself.
    """

    def kind(numbered: tuple[int, Pinned]) -> int:
        number, each = numbered
        return -1 if each.place is not None and not each.layer.is_prefix else number

    for _, group in groupby(enumerate(pinned), kind):
        yield [each for _, each in group]


def _tables(tree: kernel.Tree, folder: str) -> list[str]:
    """Returns the ids of a tree's tables that lie in a folder."""
    names = [tree.metarange_id, *(found.id for found in tree.ranges())]
    return [name for name in names if name and Path(folder, name).exists()]


def _shadowing(shadowed: int, overlay: Overlay) -> Remark:
    shown = ", ".join(overlay.overlap.paths)
    message = f"{shadowed} objects lie under others at the same path"
    return Remark("shadowed", f"{message}: {shown}" if shown else message)
