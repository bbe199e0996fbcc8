"""Images of a lake that is open in this process: whoever has its folder may do anything, so these
ask nobody for permission.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from anabranch.access.actor import Actor
from anabranch.access.statements import ALLOW_ALL
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images import Images
from anabranch.errors import Gone
from anabranch.model.image import Image, ImagePlan
from anabranch.model.lakefile_parser import parse_lakefile
from anabranch.pipelines.images.builds import Builds
from anabranch.pipelines.images.laying import Lay, lay_here
from anabranch.pipelines.images.planning import ImageRequest
from anabranch.versioning.core import Core

__all__ = ["OpenImages"]

_NONE: Mapping[str, str] = MappingProxyType({})


class OpenImages(Images):
    """The use cases of images, building among them. `clock` gives seconds since 1970."""

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        namespace: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(core, blocks, namespace)
        self.builds = Builds(core, blocks, self, clock)

    def build(
        self,
        tag: str,
        lakefile: str,
        *,
        arguments: Mapping[str, str] = _NONE,
        creator: str = "",
        strict: bool = False,
        allow_empty: bool = False,
        lay: Lay = lay_here,
    ) -> Image:
        """Builds an image from a Lakefile's text and returns it, however long that takes.

        `arguments` are the values of build arguments, `creator` is who commits, `lay` lays layers
        over each other. Raises Invalid for a Lakefile that is none, with the place, and for a
        reference that may move if `strict`; AlreadyExists for a tag that is taken, NotFound for
        what is not there and, unless `allow_empty`, for sources without objects; and what the
        stores raise.
        """
        request = _request(tag, lakefile, arguments, creator, strict, allow_empty)
        started = self.builds.build(
            request, _actor(creator), wait_seconds=threading.TIMEOUT_MAX, lay=lay
        )
        if started.image is None:
            raise Gone("the build was stopped", kind="build_stopped")
        return started.image

    def resolve(
        self,
        tag: str,
        lakefile: str,
        *,
        arguments: Mapping[str, str] = _NONE,
        strict: bool = False,
        allow_empty: bool = False,
    ) -> ImagePlan:
        """Returns what an image would be, and leaves nothing. Raises as `build` does."""
        request = _request(tag, lakefile, arguments, "", strict, allow_empty)
        return self.builds.resolve(request, _actor(""))


def _request(
    tag: str,
    lakefile: str,
    arguments: Mapping[str, str],
    creator: str,
    strict: bool,
    allow_empty: bool,
) -> ImageRequest:
    """Returns what is to be built. Raises Invalid for a Lakefile that is none."""
    return ImageRequest(
        tag=tag,
        lakefile=parse_lakefile(lakefile, arguments),
        text=lakefile,
        creator=creator,
        strict=strict,
        allow_empty=allow_empty,
    )


def _actor(name: str) -> Actor:
    return Actor(username=name, statements=(ALLOW_ALL,))
