"""Images of a lake that is open in this process. Permissions are not checked: a process that can
open the lake's folder has full access.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images.images import Images
from anabranch.errors import Gone
from anabranch.model.image import Image, ImagePlan
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.pipelines.images.assemble import ImageRequest
from anabranch.pipelines.images.build_service import Builds
from anabranch.pipelines.images.overlay import OverlayWriter, write_overlay
from anabranch.versioning.core import Core

__all__ = ["OpenImages"]

_NONE: Mapping[str, str] = MappingProxyType({})


class OpenImages(Images):
    """Reads, lists, deletes and builds images. `clock` returns seconds since 1970."""

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
        overlay: OverlayWriter = write_overlay,
    ) -> Image:
        """Builds an image from a Lakefile's text, waits for the build, and returns the image.

        `arguments` are the values of build arguments, `creator` is the committer, `overlay` writes
        the tree of the layers. Raises Invalid for an invalid Lakefile, with line and column, and
        for a reference that may move if `strict`; AlreadyExists if the tag exists; NotFound for
        references that do not exist and, unless `allow_empty`, for sources without objects; and
        the errors of the stores.
        """
        request = _request(tag, lakefile, arguments, creator, strict, allow_empty)
        started = self.builds.build(
            request, _actor(creator), wait_seconds=threading.TIMEOUT_MAX, overlay=overlay
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
        """Returns the plan of an image and writes nothing. Raises the errors of `build`."""
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
    """Returns the build request. Raises Invalid for an invalid Lakefile."""
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
