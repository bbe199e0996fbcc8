"""Planning an image: everything but the commit. What a Lakefile names is found and pinned, written
as layers into a folder of the build's own, and laid over each other there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from anabranch.pipelines.images.layers import LayerCounts, Layers
from anabranch.pipelines.images.laying import Lay, lay_here
from anabranch.pipelines.images.pins import Pinned, Pinning
from anabranch.pipelines.imports.tally import Tally
from anabranch.versioning.core import Core
from anabranch.versioning.trees import translated

__all__ = ["ImageRequest", "Planned", "plan_image"]

_SHOWN = 20


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
    *,
    expired: Callable[[Repository, str], bool] = lambda _, __: False,
    lay: Lay = lay_here,
) -> Planned:
    """Plans an image: new tables are written into `folder`, beside those of the repository
    `images`, if there is one yet. `expired` says of a commit whether its objects may be removed,
    `lay` lays the layers over each other.

    Raises NotFound for what is not there and for sources without objects, Invalid for what cannot
    be in an image, Gone where a source is lost, and what stores and the tally raise.
    """
    pinning = Pinning(core, request.tag, expired, strict=request.strict)
    lakefile = request.lakefile
    base = pinning.base(lakefile)
    pinned = [*([] if base is None else [base]), *pinning.layers(lakefile)]
    layers = Layers(core, blocks, folder, tally, allow_empty=request.allow_empty)
    laid = layers.of(pinned)
    written = lay(laid, folder, tally)
    counts = written.counts
    for each, counted in zip(laid, counts, strict=True):
        layers.check(each, counted)
    if not written.objects and not request.allow_empty:
        raise Invalid(
            "the image would hold nothing",
            kind="empty_image",
            hint="ADD something; a build may allow empty images.",
        )
    pins = [each.pin(counted) for each, counted in zip(laid, counts, strict=True)]
    base_commit = base.commit if base is not None and base.commit is not None else None
    base_digest = digest_of(base_commit) if base_commit else ""
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
        remarks=(*pinning.remarks, *_shadowing(pinned, counts)),
    )
    with translated():
        tree = _opened(core, images, folder, written.metarange_id)
        tables = _tables(tree, folder)
    return Planned(plan, tables, base_commit if base_digest else None, pinned)


def _opened(core: Core, images: Repository | None, folder: str, metarange_id: str) -> kernel.Tree:
    if images is None:
        return core.trees.open_in(folder, metarange_id)
    return core.trees.open_over(folder, images, metarange_id)


def _tables(tree: kernel.Tree, folder: str) -> list[str]:
    """Returns the ids of a tree's tables that lie in a folder."""
    names = [tree.metarange_id, *(found.id for found in tree.ranges())]
    return [name for name in names if name and Path(folder, name).exists()]


def _shadowing(pinned: Sequence[Pinned], counts: Sequence[LayerCounts]) -> Iterator[Remark]:
    """Yields what is to be said of layers that lie under later ones; only so much of many."""
    both = zip(pinned, counts, strict=True)
    under = [(each, counted) for each, counted in both if counted.shadowed]
    for each, counted in under[:_SHOWN]:
        keys = counted.shadowed_keys
        shown = ", ".join(key.decode("utf-8", "replace") for key in keys)
        more = ", …" if counted.shadowed > len(keys) else ""
        message = f"{counted.shadowed} of its objects lie under later ones: {shown}{more}"
        yield Remark("shadowed", message, each.layer.line)
    if len(under) > _SHOWN:
        others = sum(counted.shadowed for _, counted in under[_SHOWN:])
        message = f"{others} objects of {len(under) - _SHOWN} more layers lie under later ones"
        yield Remark("shadowed", message)
