"""Images: what a Lakefile was built into.

An image is a tag in the read-only repository `image`. All that is told of it here stands in the
metadata of its commit, so whoever reads the commit can check it.
"""

from __future__ import annotations

import msgspec

__all__ = ["PINNED", "Image", "ImagePlan", "Overlap", "Pin", "Remark"]

PINNED = "anabranch-pinned-etag"
"""The key of an object's metadata that holds the ETag which its bytes must have: they lie in a
store that others write to.
"""


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """A layer and what its source was: `source` as the Lakefile has it, `pinned` with the commit
    in place of the reference. `objects` and `size` (in bytes) are what was added; `digest` is over
    the names, ETags, sizes and times of objects that lie in no repository.
    """

    source: str
    pinned: str
    destination: str = ""
    exclude: tuple[str, ...] = ()
    objects: int = 0
    size: int = 0
    digest: str = ""
    line: int = 0


class Remark(msgspec.Struct, frozen=True):
    """Something that whoever builds should know: a kind for programs and a message."""

    kind: str
    message: str
    line: int = 0


class Overlap(msgspec.Struct, frozen=True):
    """How many objects lie under others at the same path, and the first of these paths."""

    count: int = 0
    paths: tuple[str, ...] = ()


class ImagePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What an image holds: its tree, counts and size (in bytes), and where all that is from.
    `base` is the digest of the image that it was built from, `shadowed` how many objects of
    layers lie under those of later ones.
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
    remarks: tuple[Remark, ...] = ()


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image: its tag, its commit, when (in seconds since 1970) and by whom it was built."""

    tag: str
    commit_id: str
    created: int
    creator: str
    plan: ImagePlan
