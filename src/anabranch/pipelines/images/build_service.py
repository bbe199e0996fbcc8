"""Service that starts image builds, plans them without a build, and returns their states."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission, image_arn, namespace_arn
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images.images import Images
from anabranch.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound
from anabranch.model.image import Image, ImagePlan
from anabranch.model.names import check_new_tag
from anabranch.model.repositories.repository import Repository
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.images.assemble import ImageRequest, plan_image
from anabranch.pipelines.images.build_job import BuildJob
from anabranch.pipelines.images.overlay import OverlayWriter, write_overlay
from anabranch.pipelines.images.permissions import source_permissions
from anabranch.pipelines.jobs.progress import NO_PROGRESS
from anabranch.pipelines.jobs.registry import JobRegistry
from anabranch.versioning.core import Core

__all__ = ["Builds", "Started"]

_RESERVED = (":resolve", ":builds")
"""Suffixes of tags in the URLs of image operations."""


class Started(NamedTuple):
    """A started build: the id of its state, and its image, None while the build is running."""

    id: str
    image: Image | None


class Builds:
    """Builds and plans images. `clock` returns seconds since 1970."""

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
        self._jobs: JobRegistry[BuildJob] = JobRegistry("build", core.image_builds, clock)

    def build(
        self,
        request: ImageRequest,
        actor: Actor,
        *,
        wait_seconds: float,
        overlay: OverlayWriter = write_overlay,
    ) -> Started:
        """Starts a build, and returns the image if it is built within `wait_seconds`. `overlay`
        writes the tree of the layers.

        Raises Denied unless the actor may create the image and read all of its sources,
        AlreadyExists if the tag exists, Invalid for an invalid tag, Busy if too many builds are
        running, and the errors of a build that fails within that time.
        """
        self._permit(request, actor)
        check_image_tag(request.tag)
        if self._images.repository.find() is None:
            namespace = self._images.repository.namespace()
            authorize(
                actor, [Permission(Action.ATTACH_STORAGE_NAMESPACE, namespace_arn(namespace))]
            )
        repository = self._images.repository.get_or_create()
        self._require_absent(repository, request.tag)
        self._jobs.remove_expired(repository)
        job = self._start_job(repository, request, overlay)
        if not job.wait_done(wait_seconds):
            return Started(job.id, None)
        if job.error is not None:
            raise job.error
        if job.image is None:
            raise Gone("the build was stopped", kind="build_stopped")
        return Started(job.id, job.image)

    def resolve(self, request: ImageRequest, actor: Actor) -> ImagePlan:
        """Returns the plan of an image and writes nothing. Raises the errors of `build`."""
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
                NO_PROGRESS,
                expired=self._expired,
            )
        return planned.plan

    def status(self, tag: str, build_id: str) -> JobStatus:
        """Returns the state of a build; `progress` is the number of source objects that were read.
        A build whose state has not been updated for a minute is reported as interrupted. Raises
        NotFound, also for a build of another tag and for one that is more than a day old.
        """
        repository = self._images.repository.find()
        stored = None
        if repository is not None and build_id.startswith(f"{tag}/"):
            stored = self._core.image_builds.find(repository, build_id)
        if stored is None or self._jobs.is_expired(stored):
            raise NotFound("build not found", kind="build_not_found")
        return self._jobs.status(stored)

    def close(self) -> None:
        """Stops all running builds; their states say that they were interrupted."""
        self._jobs.close()

    def _expired(self, repository: Repository, commit_id: str) -> bool:
        return self._core.rules.is_expired(repository, commit_id, self._clock())

    def _permit(self, request: ImageRequest, actor: Actor) -> None:
        create = Permission(Action.CREATE_IMAGE, image_arn(request.tag))
        sources = source_permissions(request.lakefile, self._images, self._blocks)
        authorize(actor, [create, *sources])

    def _start_job(
        self, repository: Repository, request: ImageRequest, overlay: OverlayWriter
    ) -> BuildJob:
        job = BuildJob(
            self._core,
            self._blocks,
            repository,
            request,
            f"{request.tag}/{self._core.identifiers.xid()}",
            slots=self._jobs.slots,
            clock=self._clock,
            on_done=self._jobs.forget,
            expired=self._expired,
            overlay=overlay,
        )
        self._jobs.start(job)
        return job

    def _require_absent(self, repository: Repository, tag: str) -> None:
        if self._core.tags.find(repository, tag) is not None:
            raise AlreadyExists(
                f"image {tag} already exists",
                kind="image_already_exists",
                hint="An image never changes: choose another tag, or delete it first.",
            )
        if self._core.branches.find(repository, tag) is not None:
            raise Conflict(f"branch name {tag}: conflict found", kind="name_is_a_branch")


def check_image_tag(tag: str) -> None:
    """Raises Invalid for an invalid tag of an image."""
    check_new_tag(tag)
    if tag.endswith(_RESERVED) or any(symbol in tag for symbol in "~@$"):
        raise Invalid(
            f"argument tag: {tag!r} is not a valid tag of an image",
            kind="invalid_tag_name",
            hint="Tags of images have no ~, @ or $, and do not end with :resolve or :builds.",
        )
