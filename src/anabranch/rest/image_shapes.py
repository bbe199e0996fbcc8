"""Images as the wire shows them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.model.image import Image, ImagePlan, Pin, Remark
from anabranch.model.imports import ImportStatus
from anabranch.rest.errors import Error
from anabranch.rest.pagination import Pagination

__all__ = [
    "ImageBuild",
    "ImageBuildStarted",
    "ImageDescription",
    "ImageList",
    "ImagePreview",
    "ImageSource",
    "ImageSummary",
    "ImageWarning",
    "build_of",
    "description_of",
    "preview_of",
    "summary_of",
]


class ImageSource(msgspec.Struct, frozen=True, kw_only=True):
    """A layer: its source as the Lakefile has it, with the commit that it was pinned to, and what
    was added. `digest` is over the ETags of objects that lie in no repository.
    """

    source: str
    pinned: str
    destination: str
    exclude: tuple[str, ...]
    objects: int
    size_bytes: int
    line: int
    digest: str | UnsetType = UNSET


class ImageWarning(msgspec.Struct, frozen=True):
    """Something to know: a kind for programs, a message, and the line of the Lakefile, or 0."""

    kind: str
    message: str
    line: int


class ImagePreview(msgspec.Struct, frozen=True, kw_only=True):
    """What an image holds: its digest, counts, and where all that is from."""

    digest: str
    metarange_id: str
    objects: int
    size_bytes: int
    shadowed: int
    base_digest: str
    labels: dict[str, str]
    arguments: dict[str, str]
    sources: list[ImageSource]
    warnings: list[ImageWarning]


class ImageDescription(ImagePreview, frozen=True, kw_only=True):
    """An image: where it can be read, and all that is known of it."""

    tag: str
    uri: str
    commit_id: str
    creation_date: int
    creator: str
    lakefile: str


class ImageSummary(msgspec.Struct, frozen=True, kw_only=True):
    """An image in a list."""

    tag: str
    uri: str
    digest: str
    commit_id: str
    creation_date: int
    creator: str
    objects: int
    size_bytes: int
    labels: dict[str, str]


class ImageList(msgspec.Struct, frozen=True):
    """A page of images."""

    pagination: Pagination
    results: list[ImageSummary]


class ImageBuildStarted(msgspec.Struct, frozen=True):
    """A build that goes on: the id to ask for it by."""

    id: str
    tag: str


class ImageBuild(msgspec.Struct, frozen=True, kw_only=True):
    """How far a build is; it has ended when it is completed, or there is an error."""

    id: str
    completed: bool
    objects_seen: int
    update_time: datetime
    commit_id: str | UnsetType = UNSET
    error: Error | UnsetType = UNSET


def preview_of(plan: ImagePlan) -> ImagePreview:
    """Returns what an image would be, as the wire shows it."""
    return ImagePreview(
        digest=plan.digest,
        metarange_id=plan.metarange_id,
        objects=plan.objects,
        size_bytes=plan.size,
        shadowed=plan.shadowed,
        base_digest=plan.base,
        labels=plan.labels,
        arguments=plan.arguments,
        sources=[_source_of(pin) for pin in plan.pins],
        warnings=[_warning_of(remark) for remark in plan.remarks],
    )


def description_of(image: Image) -> ImageDescription:
    """Returns an image as the wire shows it."""
    return ImageDescription(
        tag=image.tag,
        uri=_uri_of(image),
        commit_id=image.commit_id,
        creation_date=image.created,
        creator=image.creator,
        lakefile=image.plan.lakefile,
        **msgspec.structs.asdict(preview_of(image.plan)),
    )


def summary_of(image: Image) -> ImageSummary:
    """Returns an image as lists show it."""
    return ImageSummary(
        tag=image.tag,
        uri=_uri_of(image),
        digest=image.plan.digest,
        commit_id=image.commit_id,
        creation_date=image.created,
        creator=image.creator,
        objects=image.plan.objects,
        size_bytes=image.plan.size,
        labels=image.plan.labels,
    )


def build_of(status: ImportStatus) -> ImageBuild:
    """Returns how far a build is, as the wire shows it."""
    return ImageBuild(
        id=status.id,
        completed=status.completed,
        objects_seen=status.progress,
        update_time=datetime.fromtimestamp(status.updated_at, UTC),
        commit_id=UNSET if status.commit is None else status.commit.id,
        error=Error(status.error) if status.error else UNSET,
    )


def _uri_of(image: Image) -> str:
    return f"lakefs://image/{image.tag}"


def _source_of(pin: Pin) -> ImageSource:
    return ImageSource(
        source=pin.source,
        pinned=pin.pinned,
        destination=pin.destination,
        exclude=pin.exclude,
        objects=pin.objects,
        size_bytes=pin.size,
        line=pin.line,
        digest=pin.digest or UNSET,
    )


def _warning_of(remark: Remark) -> ImageWarning:
    return ImageWarning(remark.kind, remark.message, remark.line)
