"""Use cases of background preparations of garbage collections: start, status."""

from __future__ import annotations

from anabranch.catalog.garbage.prepare import GarbagePreparation
from anabranch.catalog.tasks.tasks import BackgroundTasks
from anabranch.model.repositories.preparation import Preparation
from anabranch.model.tasks.task import Task
from anabranch.versioning.core import Core

__all__ = ["GarbageTasks"]


class GarbageTasks:
    """Use cases of background preparations."""

    def __init__(self, core: Core, preparation: GarbagePreparation) -> None:
        self._core = core
        self._preparation = preparation
        self._tasks = BackgroundTasks(core, core.preparation_tasks, "prepare")
        self.send_heartbeats = self._tasks.send_heartbeats
        self.close = self._tasks.close

    def start(self, repository: str) -> str:
        """Starts to prepare the commits; returns the task's id."""
        stored_repository = self._core.repositories.get(repository)
        return self._tasks.start(
            stored_repository, lambda _: self._preparation.commits(stored_repository.id)
        )

    def status(self, repository: str, task_id: str) -> Task[Preparation]:
        """Returns the status of a task. Raises NotFound."""
        return self._tasks.status(repository, task_id)
