"""Images: the results of building Lakefiles.

An image is a tag in the read-only repository `image`. The metadata of its commit hold all of the
structures below, so that a reader of the commit can verify them.
"""

from __future__ import annotations

import msgspec

__all__ = ["PINNED", "Image", "ImagePlan", "Pin", "PlanWarning", "ShadowReport"]

PINNED = "anabranch-pinned-etag"
"""The metadata key for the ETag that an object's bytes must have: they are in an object store that
other programs write to.
"""


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """A layer and its resolved source: `source` as written in the Lakefile, `pinned` with the
    commit in place of the reference. `objects` and `size` (in bytes) count what was added; `digest`
    covers the names, ETags, sizes and times of objects that are not in a repository.
    """

    source: str
    pinned: str
    destination: str = ""
    exclude: tuple[str, ...] = ()
    objects: int = 0
    size: int = 0
    digest: str = ""
    line: int = 0


class PlanWarning(msgspec.Struct, frozen=True):
    """A warning for the user who builds the image: a kind for programs and a message."""

    kind: str
    message: str
    line: int = 0


class ShadowReport(msgspec.Struct, frozen=True):
    """The number of objects hidden by later layers at the same path, and the first such paths."""

    count: int = 0
    paths: tuple[str, ...] = ()


class ImagePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an image: its tree, counts and size (in bytes), and its sources. `base` is the
    digest of the image that it was built from, `shadowed` the number of objects that are hidden by
    those of later layers.
    """

    digest: str
    metarange_id: str
    objects: int
    size: int
    shadowed: int
    base: str = ""
    labels: dict[str, str] = {}
    pins: tuple[Pin, ...] = ()
    lakefile: str = ""
    arguments: dict[str, str] = {}
    remarks: tuple[PlanWarning, ...] = ()


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image: its tag and commit, the time (in seconds since 1970) and the user of its build."""

    tag: str
    commit_id: str
    created: int
    creator: str
    plan: ImagePlan
