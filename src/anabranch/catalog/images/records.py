"""Metadata of an image's commit: labels under their own keys, the rest under system keys.

author                       a label
.anabranch.image.digest      digest of the content, the same for each build of it
.anabranch.image.plan        counts, base, pinned sources and build arguments, as JSON
.anabranch.image.lakefile    the Lakefile as submitted
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from anabranch.errors import Corrupt
from anabranch.model.commits.commit import Commit
from anabranch.model.image import Image, ImagePlan, Pin, PlanWarning

__all__ = ["image_digest", "image_from", "image_metadata", "recorded_digest"]

DIGEST = ".anabranch.image.digest"
PLAN = ".anabranch.image.plan"
LAKEFILE = ".anabranch.image.lakefile"
_SYSTEM = ".anabranch."


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    objects: int
    size: int
    shadowed: int
    base: str = ""
    pins: tuple[Pin, ...] = ()
    arguments: dict[str, str] = {}
    remarks: tuple[PlanWarning, ...] = ()


_DECODER = msgspec.json.Decoder(_Stored)


def image_digest(
    metarange_id: str, base: str, labels: Mapping[str, str], pins: Sequence[Pin]
) -> str:
    """Returns the digest of an image: SHA-256 over its tree, its base's digest, its labels and
    its pinned sources, as JSON. Builds of the same Lakefile from the same sources have one digest.
    """
    named = {
        "version": 1,
        "tree": metarange_id,
        "base": base,
        "labels": dict(labels),
        "pins": [[pin.pinned, pin.destination, pin.exclude, pin.digest] for pin in pins],
    }
    text = msgspec.json.encode(named, order="sorted")
    return f"sha256:{hashlib.sha256(text).hexdigest()}"


def image_metadata(plan: ImagePlan) -> dict[str, str]:
    """Returns the metadata of an image's commit."""
    stored = _Stored(
        objects=plan.objects,
        size=plan.size,
        shadowed=plan.shadowed,
        base=plan.base,
        pins=plan.pins,
        arguments=plan.arguments,
        remarks=plan.remarks,
    )
    return {
        **plan.labels,
        DIGEST: plan.digest,
        LAKEFILE: plan.lakefile,
        PLAN: msgspec.json.encode(stored).decode(),
    }


def recorded_digest(commit: Commit) -> str:
    """Returns the digest of a commit's image, "" for a commit without an image."""
    return commit.metadata.get(DIGEST, "")


def image_from(tag: str, commit: Commit) -> Image | None:
    """Returns the image of a commit, None for a commit without one. Raises Corrupt."""
    metadata = commit.metadata
    if PLAN not in metadata:
        return None
    try:
        stored = _DECODER.decode(metadata[PLAN])
    except msgspec.MsgspecError as error:
        raise Corrupt(f"the metadata of image {tag} cannot be read: {error}") from error
    plan = ImagePlan(
        digest=recorded_digest(commit),
        metarange_id=commit.metarange_id,
        labels={key: text for key, text in metadata.items() if not key.startswith(_SYSTEM)},
        lakefile=metadata.get(LAKEFILE, ""),
        **msgspec.structs.asdict(stored),
    )
    return Image(
        tag=tag,
        commit_id=commit.id,
        created=commit.creation_date,
        creator=commit.committer,
        plan=plan,
    )
