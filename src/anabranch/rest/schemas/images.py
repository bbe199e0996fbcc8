"""Schemas of images."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.model.image import Image, ImagePlan, Pin, PlanWarning
from anabranch.model.tasks.job import JobStatus
from anabranch.rest.protocol.errors import Error
from anabranch.rest.schemas.pagination import Pagination

__all__ = [
    "ImageBuild",
    "ImageBuildStarted",
    "ImageDescription",
    "ImageList",
    "ImagePreview",
    "ImageSource",
    "ImageSummary",
    "ImageWarning",
    "to_build",
    "to_description",
    "to_preview",
    "to_summary",
]


class ImageSource(msgspec.Struct, frozen=True, kw_only=True):
    """A layer: its source as in the Lakefile, the commit that it is pinned to, and what it added.
    `digest` covers the ETags of objects that belong to no repository.
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
    """A warning: its kind, its message, and the line of the Lakefile, or 0."""

    kind: str
    message: str
    line: int


class ImagePreview(msgspec.Struct, frozen=True, kw_only=True):
    """Content of an image: digest, counts and sources."""

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
    """An image: its address and all of its properties."""

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
    """A running build and its id."""

    id: str
    tag: str


class ImageBuild(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a build; it has ended if it is completed or has an error."""

    id: str
    completed: bool
    objects_seen: int
    update_time: datetime
    commit_id: str | UnsetType = UNSET
    error: Error | UnsetType = UNSET


def to_preview(plan: ImagePlan) -> ImagePreview:
    """Returns the schema of an image's content."""
    return ImagePreview(
        digest=plan.digest,
        metarange_id=plan.metarange_id,
        objects=plan.objects,
        size_bytes=plan.size,
        shadowed=plan.shadowed,
        base_digest=plan.base,
        labels=plan.labels,
        arguments=plan.arguments,
        sources=[_to_source(pin) for pin in plan.pins],
        warnings=[_to_warning(remark) for remark in plan.remarks],
    )


def to_description(image: Image) -> ImageDescription:
    """Returns the schema of an image."""
    return ImageDescription(
        tag=image.tag,
        uri=_to_uri(image),
        commit_id=image.commit_id,
        creation_date=image.created,
        creator=image.creator,
        lakefile=image.plan.lakefile,
        **msgspec.structs.asdict(to_preview(image.plan)),
    )


def to_summary(image: Image) -> ImageSummary:
    """Returns the schema of an image in a list."""
    return ImageSummary(
        tag=image.tag,
        uri=_to_uri(image),
        digest=image.plan.digest,
        commit_id=image.commit_id,
        creation_date=image.created,
        creator=image.creator,
        objects=image.plan.objects,
        size_bytes=image.plan.size,
        labels=image.plan.labels,
    )


def to_build(status: JobStatus) -> ImageBuild:
    """Returns how far a build is, as the wire shows it."""
    return ImageBuild(
        id=status.id,
        completed=status.completed,
        objects_seen=status.progress,
        update_time=datetime.fromtimestamp(status.updated_at, UTC),
        commit_id=UNSET if status.commit is None else status.commit.id,
        error=Error(status.error) if status.error else UNSET,
    )


def _to_uri(image: Image) -> str:
    return f"lakefs://image/{image.tag}"


def _to_source(pin: Pin) -> ImageSource:
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


def _to_warning(remark: PlanWarning) -> ImageWarning:
    return ImageWarning(remark.kind, remark.message, remark.line)
