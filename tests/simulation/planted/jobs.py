"""Planted faults of jobs: of imports, and of builds of images."""

from __future__ import annotations

from typing import Any

import msgspec
from simulation.planted.plant import Plant, needs
from simulation.world import World

from anabranch.model.commits.commit import Commit
from anabranch.pipelines.images.build_job import BuildJob
from anabranch.pipelines.imports.commit_import import ImportCommitter
from anabranch.pipelines.imports.import_job import ImportJob
from anabranch.pipelines.imports.merge_sorted_runs import decode_records
from anabranch.pipelines.jobs.job import Job
from anabranch.versioning.commits.branch_change import Made, UntrustedTree
from anabranch.versioning.transfers.area import Source

__all__ = ["PLANTED"]

_PIPELINES = "anabranch.pipelines"
_WRITES_FOR = f"{_PIPELINES}.jobs.job.Job.writes_for"
_COMMITTER = f"{_PIPELINES}.imports.commit_import.ImportCommitter"


@needs("jobs")
def cancelled_job_goes_on(world: World) -> None:
    """A job does not make sure with its result that it was not cancelled."""

    def without_condition(self: Job, commit: Commit) -> Any:
        record = self._records.find(self.repository, self.id)
        status = msgspec.structs.replace(self.status(), completed=True, commit=commit)
        return [self._records.replacement(self.repository, record, status)[0]], []

    world.replace(_WRITES_FOR, without_condition)


@needs("jobs")
def state_after_result(world: World) -> None:
    """The state of a job is completed after its result is there, and not with it."""
    made: dict[int, Commit] = {}

    def nothing(self: Job, commit: Commit) -> Any:
        made[id(self)] = commit
        return (), ()

    def completing(run: Any) -> Any:
        def run_and_complete(self: Job) -> None:
            run(self)
            status = msgspec.structs.replace(
                self.status(), completed=True, commit=made.pop(id(self))
            )
            record = self._records.find(self.repository, self.id)
            self._records.replace(self.repository, record, status)

        return run_and_complete

    world.replace(_WRITES_FOR, nothing)
    for job in (ImportJob, BuildJob):
        world.replace(f"{job.__module__}.{job.__name__}.run", completing(job.run))


@needs("jobs")
def import_of_another_head(world: World) -> None:
    """An import commits what it has made for an earlier head of its branch."""
    merged_tree = ImportCommitter._merged_tree

    def first_tree(self: ImportCommitter, head: str) -> str:
        for tree in self._merged.values():
            return tree
        return merged_tree(self, head)

    world.replace(f"{_COMMITTER}._merged_tree", first_tree)


@needs("jobs")
def import_beside_the_old(world: World) -> None:
    """An import leaves what was at its destination before."""
    world.replace(
        f"{_PIPELINES}.imports.commit_import.replacement_changes",
        lambda _head, imported, _prefixes: decode_records(imported),
    )


@needs("jobs")
def unsynced_names_of_tables(world: World) -> None:
    """A job moves its tables into the folder of the store, whose names are not synced."""
    world.replace("anabranch.blocks.cache.table_cache.sync_folder", lambda _path: None)


@needs("expired")
def image_without_pins(world: World) -> None:
    """A build does not pin the commits that it reads."""

    def look(self: BuildJob, repository: Any, commit_id: str) -> bool:
        return self._expired(repository, commit_id)

    world.replace(f"{_PIPELINES}.images.build_job.BuildJob._pin_source", look)


@needs("expired")
def import_of_what_was_removed(world: World) -> None:
    """An import does not notice that objects were removed since it has listed them."""
    make = ImportCommitter.make

    def make_trusted(self: ImportCommitter, *arguments: Any) -> Made[Commit]:
        now = UntrustedTree(self._core.sweeps.begun_count())
        return msgspec.structs.replace(make(self, *arguments), untrusted=now)

    world.replace(f"{_COMMITTER}.make", make_trusted)


@needs("expired")
def copy_without_admission(world: World) -> None:
    """A copy of an expired commit's objects is made without a look at garbage collections."""
    admission = "anabranch.versioning.transfers.origins.OriginAdmission.admit"

    def admit(self: Any, repository: Any, reference: str, *_: Any) -> Any:
        return Source(repository, self.references.resolve(repository, reference)), []

    world.replace(admission, admit)


PLANTED: tuple[Plant, ...] = (
    cancelled_job_goes_on,
    state_after_result,
    import_of_another_head,
    import_beside_the_old,
    unsynced_names_of_tables,
    image_without_pins,
    import_of_what_was_removed,
    copy_without_admission,
)
