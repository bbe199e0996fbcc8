"""Planning of images: all steps of a build except the commit.

The references of a Lakefile are resolved and pinned, their objects are prepared as layers, and the
overlay of the layers is written into a folder of the build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images.records import image_digest, recorded_digest
from anabranch.errors import Invalid
from anabranch.model.commits.commit import Commit
from anabranch.model.image import ImagePlan, PlanWarning
from anabranch.model.lakefile.instructions import Lakefile
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.images.layers import LayerCounts, Layers
from anabranch.pipelines.images.overlay import OverlayWriter, write_overlay
from anabranch.pipelines.images.resolve_references import Pinned, ReferencePinner
from anabranch.pipelines.jobs.progress import Progress
from anabranch.versioning.core import Core
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["ImageRequest", "PlannedImage", "plan_image"]

_MAX_WARNINGS = 20


class ImageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to build an image: its tag, the parsed Lakefile and its text, and the creator.
    `strict` rejects references that may move, `allow_empty` accepts sources without objects.
    """

    tag: str
    lakefile: Lakefile
    text: str
    creator: str
    strict: bool = False
    allow_empty: bool = False


class PlannedImage(NamedTuple):
    """A plan, the ids of its tree's new tables in the folder, the commit of the base image or None,
    and the sources, which must still exist when the image is committed. `collectable` is the path
    of an object that was added by its address and that garbage collection may remove, "" for none.
    """

    plan: ImagePlan
    tables: list[str]
    base: Commit | None
    sources: Sequence[Pinned]
    collectable: str = ""

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
    progress: Progress,
    *,
    expired: Callable[[Repository, str], bool] = lambda _, __: False,
    overlay: OverlayWriter = write_overlay,
) -> PlannedImage:
    """Plans an image and writes its new tables into `folder`; its other tables are in the
    repository `images`, None if that does not exist yet. `expired` returns whether the objects of
    a commit may be removed, `overlay` writes the tree of the layers.

    Raises NotFound for references that do not exist and for sources without objects, Invalid for
    objects that cannot be in an image, Gone if a source was removed, and the errors of the stores
    and of `progress`.
    """
    progress.begin("building the image", 0)
    pinner = ReferencePinner(core, request.tag, expired, strict=request.strict)
    lakefile = request.lakefile
    base = pinner.base(lakefile)
    pinned = [*([] if base is None else [base]), *pinner.layers(lakefile)]
    layers = Layers(core, blocks, folder, progress, allow_empty=request.allow_empty)
    prepared = layers.prepare(pinned)
    written = overlay(prepared, folder, progress)
    counts = written.counts
    for layer, counted in zip(prepared, counts, strict=True):
        layers.check(layer, counted)
    if not written.objects and not request.allow_empty:
        raise Invalid(
            "the image would have no objects",
            kind="empty_image",
            hint="ADD a source, or allow empty images (allow_empty).",
        )
    pins = [layer.pin(counted) for layer, counted in zip(prepared, counts, strict=True)]
    base_commit = base.commit if base is not None and base.commit is not None else None
    base_digest = recorded_digest(base_commit) if base_commit else ""
    plan = ImagePlan(
        digest=image_digest(written.metarange_id, base_digest, lakefile.labels, pins),
        metarange_id=written.metarange_id,
        objects=written.objects,
        size=sum(pin.size for pin in pins) - sum(counted.shadowed_size for counted in counts),
        shadowed=sum(counted.shadowed for counted in counts),
        base=base_digest,
        labels=lakefile.labels,
        pins=tuple(pins),
        lakefile=request.text,
        arguments={argument.name: argument.value for argument in lakefile.arguments},
        remarks=(*pinner.remarks, *_shadow_reports(pinned, counts)),
    )
    with translate_errors():
        tree = _open_tree(core, images, folder, written.metarange_id)
        tables = _tables(tree, folder)
    collectable = next((layer.collectable for layer in prepared if layer.collectable), "")
    return PlannedImage(plan, tables, base_commit if base_digest else None, pinned, collectable)


def _open_tree(
    core: Core, images: Repository | None, folder: str, metarange_id: str
) -> kernel.Tree:
    if images is None:
        return core.trees.open_in(folder, metarange_id)
    return core.trees.open_overlay(folder, images, metarange_id)


def _tables(tree: kernel.Tree, folder: str) -> list[str]:
    """Returns the ids of a tree's tables that are in a folder."""
    names = [tree.metarange_id, *(table.id for table in tree.ranges())]
    return [name for name in names if name and Path(folder, name).exists()]


def _shadow_reports(
    pinned: Sequence[Pinned], counts: Sequence[LayerCounts]
) -> Iterator[PlanWarning]:
    """Yields warnings about layers whose objects are replaced by later ones, one each for the first
    20 layers and one for all others.
    """
    both = zip(pinned, counts, strict=True)
    replaced = [(layer, counted) for layer, counted in both if counted.shadowed]
    for source, counted in replaced[:_MAX_WARNINGS]:
        keys = counted.shadowed_keys
        shown = ", ".join(key.decode("utf-8", "replace") for key in keys)
        more = ", …" if counted.shadowed > len(keys) else ""
        message = f"{counted.shadowed} of its objects are replaced by later layers: {shown}{more}"
        yield PlanWarning("shadowed", message, source.layer.line)
    if len(replaced) > _MAX_WARNINGS:
        others = sum(counted.shadowed for _, counted in replaced[_MAX_WARNINGS:])
        message = (
            f"{others} objects of {len(replaced) - _MAX_WARNINGS} more layers are replaced by "
            "later layers"
        )
        yield PlanWarning("shadowed", message)
