"""One build that goes on: it plans, writes the tree into the store, and tags it.

The commit, its tag and the end of the build come in one step, last of all: whatever ends a build
before leaves no tag, and nothing that anything refers to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.image_records import metadata_of
from anabranch.errors import AnabranchError, Gone, NotFound
from anabranch.model.commit import Commit
from anabranch.model.image import Image
from anabranch.model.repository import Repository
from anabranch.pipelines.images.laying import Lay, lay_here
from anabranch.pipelines.images.pins import Pinned, at_line
from anabranch.pipelines.images.planning import ImageRequest, Planned, plan_image
from anabranch.pipelines.running import RunningJob, Stopped
from anabranch.versioning.core import Core

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
        self.image: Image | None = None
        """The image, once it is built."""

    def run(self) -> None:
        """Builds. Raises AlreadyExists if another has built an image under the tag meanwhile, Gone
        for a source that was deleted.
        """
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
                    expired=self._expired,
                    lay=self._lay,
                )
                core.trees.adopt(images, folder, planned)
            finally:
                self.folder = ""
        commit = self._commit(planned)
        require_sources_there(core, planned.sources)
        others, expected = self.completion(commit)
        beside = [core.commits.write(images, commit), *others]
        try:
            core.tags.create(images, request.tag, commit.id, beside=lambda _: (beside, expected))
        except AnabranchError as error:
            if error.kind == "changed_meanwhile":
                raise Stopped from error
            raise
        self.image = Image(
            tag=request.tag,
            commit_id=commit.id,
            created=commit.creation_date,
            creator=request.creator,
            plan=planned.plan,
        )

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
