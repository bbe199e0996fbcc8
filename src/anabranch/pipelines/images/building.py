"""One build that goes on: it plans, writes the tree into the store, and tags it.

The commit, its tag and the end of the build come in one step, last of all: whatever ends a build
before leaves no tag, and nothing that anything refers to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.image_records import metadata_of
from anabranch.errors import Gone, NotFound
from anabranch.model.commit import Commit
from anabranch.model.image import Image
from anabranch.model.repository import Repository
from anabranch.model.tag import Tag
from anabranch.pipelines.images.laying import Lay, lay_here
from anabranch.pipelines.images.pins import Pinned, at_line
from anabranch.pipelines.images.planning import ImageRequest, Planned, plan_image
from anabranch.pipelines.running import RunningJob
from anabranch.versioning.core import Core
from anabranch.versioning.extra_writes import Beside, ExtraWrites
from anabranch.versioning.pins import Pin

__all__ = ["RunningBuild"]


class RunningBuild(RunningJob):
    """A build in two threads of its own, into the repository of images."""

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
        ended: Callable[[str], None],
        expired: Callable[[Repository, str], bool],
        lay: Lay = lay_here,
    ) -> None:
        super().__init__(core, images, build_id, slots=slots, clock=clock, ended=ended)
        self._blocks = blocks
        self._expired = expired
        self._request = request
        self._lay = lay
        self._held: list[Pin] = []
        self._holding = threading.Lock()
        self.image: Image | None = None
        """The image, once it is built."""

    def run(self) -> None:
        """Builds. Raises AlreadyExists if another has built an image under the tag meanwhile, Gone
        for a source that was deleted.
        """
        try:
            self._build()
        finally:
            with self._holding:
                held, self._held = self._held, []
            for pin in held:
                self.core.pins.release(pin)

    def _build(self) -> None:
        core, request, images = self.core, self._request, self.repository
        with core.trees.scratch() as folder:
            self.folder = folder
            try:
                planned = plan_image(
                    core,
                    self._blocks,
                    images,
                    request,
                    folder,
                    self.tally,
                    expired=self._hold,
                    lay=self._lay,
                )
                core.trees.adopt(images, folder, planned)
            finally:
                self.folder = ""
        commit = self._commit(planned)
        require_sources_there(core, planned.sources)
        with self._holding:
            core.tags.create(images, request.tag, commit.id, beside=self._completed(commit))
        self.image = Image(
            tag=request.tag,
            commit_id=commit.id,
            created=commit.creation_date,
            creator=request.creator,
            plan=planned.plan,
        )

    def _hold(self, repository: Repository, commit_id: str) -> bool:
        """Keeps the objects of a source from being collected until the image has them; returns
        whether the commit has expired before.
        """
        with self._holding:
            self._held.append(self.core.pins.pin(repository, [commit_id]))
        return self._expired(repository, commit_id)

    def _tell(self) -> None:
        super()._tell()
        with self._holding:
            self._renew_pins()

    def _renew_pins(self) -> None:
        self._held = [self.core.pins.renew(pin) for pin in self._held]

    def _completed(self, commit: Commit) -> Beside[Tag]:
        """Returns what adds to the tag the commit, the end of the build and that of its pins. It
        raises Stopped if the build is not to go on, Conflict if a pin was lost.
        """
        attempts = 0

        def complete(_: Tag) -> ExtraWrites:
            nonlocal attempts
            attempts += 1
            if attempts > 1:
                self._renew_pins()
            ends = [self.completion(commit), *(pin.release for pin in self._held)]
            writes = [write for some, _ in ends for write in some]
            writes.append(self.core.commits.write(self.repository, commit))
            return writes, [condition for _, some in ends for condition in some]

        return complete

    def _commit(self, planned: Planned) -> Commit:
        core, images = self.core, self.repository
        parent = planned.base
        if parent is None:  # so that all images have an ancestor in common, and can be compared
            parent = core.references.commit(images, images.default_branch)
        return core.commits.make(
            committer=self._request.creator,
            message=f"Image {self._request.tag}",
            metarange_id=planned.metarange_id,
            metadata=metadata_of(planned.plan),
            parents=[parent],
        )


def require_sources_there(core: Core, sources: Sequence[Pinned]) -> None:
    """Raises Gone if a repository or a commit that layers are from has been deleted."""
    checked = set()
    for pinned in sources:
        repository, commit = pinned.repository, pinned.commit
        if repository is None or commit is None or (repository.partition, commit.id) in checked:
            continue
        checked.add((repository.partition, commit.id))
        with at_line(pinned.layer.line):
            try:
                found = core.repositories.get(repository.id)
            except NotFound:
                found = None
            if found is None or found.partition != repository.partition:
                raise Gone(
                    f"{pinned.layer.source}: the repository {repository.id} was deleted meanwhile",
                    kind="source_deleted",
                )
