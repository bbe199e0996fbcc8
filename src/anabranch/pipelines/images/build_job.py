"""Job that builds one image: it plans the image, stores its tree, and creates its tag.

The last write creates the commit and the tag and completes the state of the build, atomically. A
build that ends earlier leaves no tag, only unreferenced objects.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.images.records import image_metadata
from anabranch.errors import Gone, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.image import Image
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.images.assemble import ImageRequest, PlannedImage, plan_image
from anabranch.pipelines.images.overlay import OverlayWriter, write_overlay
from anabranch.pipelines.images.resolve_references import Pinned, at_line
from anabranch.pipelines.jobs.job import Job
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.pins import Pin
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["BuildJob"]


class BuildJob(Job):
    """The build of an image in the repository of images. `expired` returns whether the objects of a
    commit may be removed, `overlay` writes the tree of the layers.
    """

    name = "image"

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        images: Repository,
        request: ImageRequest,
        build_id: str,
        *,
        slots: threading.Semaphore,
        clock: Callable[[], float],
        on_done: Callable[[str], None],
        expired: Callable[[Repository, str], bool],
        overlay: OverlayWriter = write_overlay,
    ) -> None:
        super().__init__(
            *(core, images, build_id),
            records=core.image_builds,
            slots=slots,
            clock=clock,
            on_done=on_done,
        )
        self._blocks = blocks
        self._expired = expired
        self._request = request
        self._overlay = overlay
        self._pins: list[Pin] = []
        self._pins_lock = threading.Lock()
        self.image: Image | None = None
        """The image after the build has succeeded."""

    def run(self) -> None:
        """Builds the image. Raises AlreadyExists if another build has created the tag meanwhile,
        Gone for a source that was deleted.
        """
        try:
            self._build()
        finally:
            with self._pins_lock:
                pins, self._pins = self._pins, []
            for pin in pins:
                self.core.pins.release_after_reference(pin)

    def _build(self) -> None:
        core, request, images = self.core, self._request, self.repository
        since = core.sweeps.ended_count()
        with core.trees.scratch() as folder:
            self.folder = folder
            try:
                planned = plan_image(
                    core,
                    self._blocks,
                    images,
                    request,
                    folder,
                    self.progress,
                    expired=self._pin_source,
                    overlay=self._overlay,
                )
                core.trees.adopt(images, folder, planned)
            finally:
                self.folder = ""
        commit = self._commit(planned)
        require_sources_exist(core, planned.sources)
        with self._pins_lock:
            core.tags.create(
                images,
                request.tag,
                commit.id,
                extra_writes=[_ImageCompletion(self, commit, planned.collectable, since)],
            )
        self.image = Image(
            tag=request.tag,
            commit_id=commit.id,
            created=commit.creation_date,
            creator=request.creator,
            plan=planned.plan,
        )

    def _pin_source(self, repository: Repository, commit_id: str) -> bool:
        """Pins a source until the image references its objects; returns whether its commit has
        already expired.
        """
        with self._pins_lock:
            self._pins.append(self.core.pins.pin(repository, [commit_id]))
        return self._expired(repository, commit_id)

    def keep_alive(self) -> None:
        """Renews the pins of the sources."""
        with self._pins_lock:
            self._renew_pins()

    def _renew_pins(self) -> None:
        self._pins = [self.core.pins.renew(pin) for pin in self._pins]

    def complete_image(
        self, commit: Commit, collectable: str, since: int, *, renews: bool
    ) -> ExtraWrites:
        """Returns the writes to add to the tag's write: the commit and the completed state, on
        condition that the pins exist, which are renewed first if `renews`. `collectable` is the
        path of an object that was added by its address, if there is one; `since` the number of
        sweeps that had ended before it was listed.

        Raises Stopped if the build was stopped, Conflict if a pin was lost or garbage collection
        may be removing that object, or have removed it.
        """
        if renews:
            self._renew_pins()
        pinned = [pin.unchanged for pin in self._pins]
        completed, expect = self.writes_for(commit)
        conditions = [*expect, *pinned]
        if collectable:
            conditions += self.core.tree_admission.admit_object(collectable, since)[1]
        return [*completed, self.core.commits.write(self.repository, commit)], conditions

    def _commit(self, planned: PlannedImage) -> Commit:
        core, images = self.core, self.repository
        parent = planned.base
        if parent is None:  # gives all images a common ancestor, so that they can be compared
            parent = core.references.commit(images, images.default_branch)
        return core.commits.make(
            committer=self._request.creator,
            message=f"Image {self._request.tag}",
            metarange_id=planned.metarange_id,
            metadata=image_metadata(planned.plan),
            parents=[parent],
        )


def require_sources_exist(core: Core, sources: Sequence[Pinned]) -> None:
    """Raises Gone if a source repository or commit of a layer has been deleted."""
    checked = set()
    for pinned in sources:
        repository, commit = pinned.repository, pinned.commit
        if repository is None or commit is None or (repository.partition, commit.id) in checked:
            continue
        checked.add((repository.partition, commit.id))
        with at_line(pinned.layer.line):
            try:
                current = core.repositories.get(repository.id)
            except NotFound:
                current = None
            if current is None or current.partition != repository.partition:
                raise Gone(
                    f"{pinned.layer.source}: the repository {repository.id} was deleted meanwhile",
                    kind="source_deleted",
                )


class _ImageCompletion:
    """What is written with the tag of an image."""

    def __init__(self, job: BuildJob, commit: Commit, collectable: str, since: int) -> None:
        self._job = job
        self._since = since
        self._commit = commit
        self._collectable = collectable
        self._attempts = 0

    def writes_for(self, _: Tag, /) -> ExtraWrites:
        """Returns the writes of `BuildJob.complete_image`: from the second attempt on, the pins are
        renewed.
        """
        self._attempts += 1
        return self._job.complete_image(
            self._commit, self._collectable, self._since, renews=self._attempts > 1
        )
