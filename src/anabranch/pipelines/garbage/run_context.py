"""The record of a run that both engines work on: what is collected, and the run's files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.run_files import RunFiles
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["RunContext"]


class RunContext(NamedTuple):
    """A run: the collected repository of an installation with its namespace, the store, what is
    reachable, and the time of the run; files of tables stored before `tables_before` may be
    removed (both in seconds since 1970); its files in the store, and a local
    folder for large files.
    """

    installation: Installation
    repository: Repository
    namespace: Namespace
    blocks: BlockStore
    reachability: Reachability
    now: float
    tables_before: int
    files: RunFiles
    folder: Path
    progress: Progress

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.files.run_id

    @property
    def prefix(self) -> str:
        """The prefix of the addresses of the run's files."""
        return self.files.prefix
