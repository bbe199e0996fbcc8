"""Use cases of dumps of references: dump, restore, each at once or as a task.

A dump leaves its ids also in the storage namespace, in `_lakefs/refs_manifest.json`, from where
lakeFS's clients read them if the server is lost.
"""

from __future__ import annotations

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import tables_address
from anabranch.catalog.tasks.tasks import BackgroundTasks, RunningTask
from anabranch.model.repositories.refs_dump import RefsDump
from anabranch.model.repositories.repository import Repository
from anabranch.model.tasks.task import Task
from anabranch.versioning.core import Core
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.trees.tree_addresses import Importable

__all__ = ["RefsDumps"]

_MANIFEST = "refs_manifest.json"


class RefsDumps:
    """Use cases of dumps of references."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks
        self._dumps = BackgroundTasks(core, core.dump_tasks, "dump")
        self._restores = BackgroundTasks(core, core.restore_tasks, "restore")

    def dump(self, repository: str) -> RefsDump:
        """Dumps the commits, branches and tags of a repository as they are at one moment, into its
        storage namespace. Uncommitted changes are not in a dump.
        """
        stored_repository = self._core.repositories.get(repository)
        dump = self._core.refs_dumper.dump(stored_repository)
        self._write_manifest(stored_repository, dump)
        return dump

    def restore(
        self,
        repository: str,
        dump: RefsDump,
        *,
        importable: Importable | None = None,
        force: bool = False,
    ) -> None:
        """Adds the references of a dump to a bare repository, all or none of them. `importable`
        limits the addresses outside of the repository's data; `force` allows it in a read-only
        repository.

        Raises what `RefsRestorer.restore` raises.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        self._core.refs_restorer.restore(stored_repository, dump, importable=importable)

    def start_dump(self, repository: str) -> str:
        """Starts a task that dumps a repository's references; returns its id."""
        stored_repository = self._core.repositories.get(repository)

        def work(task: RunningTask[RefsDump]) -> RefsDump:
            dump = self._core.refs_dumper.dump(stored_repository, task.advance)
            self._write_manifest(stored_repository, dump)
            return dump

        return self._dumps.start(stored_repository, work)

    def dump_status(self, repository: str, task_id: str) -> Task[RefsDump]:
        """Returns the status of a dump. Raises NotFound."""
        return self._dumps.status(repository, task_id)

    def start_restore(
        self,
        repository: str,
        dump: RefsDump,
        *,
        importable: Importable | None = None,
        force: bool = False,
    ) -> str:
        """Starts a task that restores references as `restore` does; returns its id. The step that
        adds the references also completes the task. Raises Invalid if the repository is not bare.
        """
        stored_repository = self._core.repositories.get(repository)
        check_writable(stored_repository, force=force)
        self._core.refs_restorer.require_bare(stored_repository)

        def work(task: RunningTask[None]) -> None:
            self._core.refs_restorer.restore(
                stored_repository,
                dump,
                importable=importable,
                advance=task.advance,
                extra_writes=[task],
            )

        return self._restores.start(stored_repository, work)

    def restore_status(self, repository: str, task_id: str) -> Task[None]:
        """Returns the status of a restore. Raises NotFound."""
        return self._restores.status(repository, task_id)

    def send_heartbeats(self) -> None:
        """Records that the tasks of this process are still running."""
        self._dumps.send_heartbeats()
        self._restores.send_heartbeats()

    def close(self) -> None:
        """Stops the tasks of this process."""
        self._dumps.close()
        self._restores.close()

    def _write_manifest(self, repository: Repository, dump: RefsDump) -> None:
        ids = {
            "branches_meta_range_id": dump.branches,
            "commits_meta_range_id": dump.commits,
            "tags_meta_range_id": dump.tags,
        }
        text = msgspec.json.format(msgspec.json.encode(ids), indent=2)
        self._blocks.put(f"{tables_address(repository.storage_namespace)}/{_MANIFEST}", [text])
