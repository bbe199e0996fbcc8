"""Builds of images: started, waited for, tried without leaving anything, asked how far they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from anabranch.access.actor import Actor
from anabranch.access.decide import decide
from anabranch.access.permissions import Action, Permission, image_arn, namespace_arn
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images import Images
from anabranch.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound
from anabranch.model.image import Image, ImagePlan
from anabranch.model.imports import ImportStatus
from anabranch.model.names import check_tag
from anabranch.model.repository import Repository
from anabranch.pipelines.images.building import RunningBuild
from anabranch.pipelines.images.laying import Lay, lay_here
from anabranch.pipelines.images.permissions import source_permissions
from anabranch.pipelines.images.planning import ImageRequest, plan_image
from anabranch.pipelines.imports.tally import Tally
from anabranch.pipelines.running_jobs import RunningJobs
from anabranch.versioning.core import Core

__all__ = ["Builds", "Started"]

_RESERVED = (":resolve", ":builds")
"""What the addresses of operations on images end with."""


class Started(NamedTuple):
    """A build: the image if it has ended, else the id by which to ask how far it is."""

    id: str
    image: Image | None


class Builds:
    """The use cases of building images. `clock` gives seconds since 1970."""

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        images: Images,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._images = images
        self._clock = clock
        self._jobs: RunningJobs[RunningBuild] = RunningJobs("build", core, clock)

    def build(
        self, request: ImageRequest, actor: Actor, *, wait_seconds: float, lay: Lay = lay_here
    ) -> Started:
        """Starts a build, and returns the image if it is built within so many seconds. `lay` lays
        its layers over each other.

        Raises Denied unless the actor may make the image and read all that it is from,
        AlreadyExists if there is one under the tag, Invalid for a tag that cannot be, Busy when
        too many builds go on, and what goes wrong while it is waited for.
        """
        self._permit(request, actor)
        check_image_tag(request.tag)
        if self._images.repository.find() is None:
            namespace = self._images.repository.namespace()
            decide(actor, [Permission(Action.ATTACH_STORAGE_NAMESPACE, namespace_arn(namespace))])
        repository = self._images.repository.found_or_made()
        self._require_absent(repository, request.tag)
        self._jobs.forget_old(repository)
        running = self._begin(repository, request, lay)
        if not running.worked(wait_seconds):
            return Started(running.id, None)
        if running.error is not None:
            raise running.error
        if running.image is None:
            raise Gone("the build was stopped", kind="build_stopped")
        return Started(running.id, running.image)

    def resolve(self, request: ImageRequest, actor: Actor) -> ImagePlan:
        """Returns what an image would be, and leaves nothing. Raises as `build` does."""
        self._permit(request, actor)
        check_image_tag(request.tag)
        repository = self._images.repository.find()
        if repository is not None:
            self._require_absent(repository, request.tag)
        with self._jobs.slots, self._core.trees.scratch() as folder:
            planned = plan_image(
                self._core,
                self._blocks,
                repository,
                request,
                folder,
                Tally(),
                expired=self._expired,
            )
        return planned.plan

    def status(self, tag: str, build_id: str) -> ImportStatus:
        """Returns how far a build is: `progress` objects of its sources have been seen. One of
        which nobody has heard for a minute was interrupted. Raises NotFound, also for one of more
        than a day ago, and for one of another tag.
        """
        repository = self._images.repository.find()
        stored = None
        if repository is not None and build_id.startswith(f"{tag}/"):
            stored = self._core.imports.find(repository, build_id)
        if stored is None or self._jobs.is_old(stored):
            raise NotFound("build not found", kind="build_not_found")
        return self._jobs.status(stored)

    def close(self) -> None:
        """Ends all builds that go on; their states say that they were interrupted."""
        self._jobs.close()

    def _expired(self, repository: Repository, commit_id: str) -> bool:
        return self._core.rules.expired(repository, commit_id, self._clock())

    def _permit(self, request: ImageRequest, actor: Actor) -> None:
        wanted = Permission(Action.CREATE_IMAGE, image_arn(request.tag))
        decide(actor, [wanted, *source_permissions(request.lakefile, self._images)])

    def _begin(self, repository: Repository, request: ImageRequest, lay: Lay) -> RunningBuild:
        running = RunningBuild(
            self._core,
            self._blocks,
            repository,
            request,
            f"{request.tag}/{self._core.identifiers.xid()}",
            slots=self._jobs.slots,
            clock=self._clock,
            ended=self._jobs.forget,
            expired=self._expired,
            lay=lay,
        )
        self._jobs.start(running)
        return running

    def _require_absent(self, repository: Repository, tag: str) -> None:
        if self._core.tags.find(repository, tag) is not None:
            raise AlreadyExists(
                f"image {tag} exists already",
                kind="image_already_exists",
                hint="An image never changes: choose another tag, or delete it first.",
            )
        if self._core.branches.find(repository, tag) is not None:
            raise Conflict(f"branch name {tag}: conflict found", kind="name_is_a_branch")


def check_image_tag(tag: str) -> None:
    """Raises Invalid unless an image may have this tag."""
    check_tag(tag)
    if tag.endswith(_RESERVED) or any(symbol in tag for symbol in "~@$"):
        raise Invalid(
            f"argument tag: {tag!r} cannot name an image",
            kind="invalid_tag_name",
            hint="No ~, @ or $, and nothing that ends with :resolve or :builds.",
        )
