"""An installation in which every feature was used, a target, and what backs up, restores and
verifies.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.verification.used_installation import open_lake, settings_of, use_every_feature

from anabranch.pipelines.backups.manifest import Manifest
from anabranch.pipelines.backups.restore import Restored
from anabranch.pipelines.jobs.progress import NO_PROGRESS
from anabranch.server.installation.backups import (
    open_backup_job,
    open_restore,
    open_target,
    write_keys,
)


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    used = tmp_path_factory.mktemp("used")
    with open_lake(used / "lake") as lake:
        use_every_feature(lake, used)
    return used


@pytest.fixture
def folder(used: Path, tmp_path: Path) -> Path:
    shutil.copytree(used, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def target(folder: Path, place: Path) -> Callable[[], object]:
    """Opens the target."""
    return lambda: open_target(settings_of(folder), str(place), create=True)


@pytest.fixture
def back_up(folder: Path, place: Path) -> Callable[..., Manifest]:
    def back_up(*, objects: bool = True) -> Manifest:
        with open_backup_job(settings_of(folder), str(place), NO_PROGRESS) as job:
            return job.make(objects=objects)

    return back_up


@pytest.fixture
def restore(place: Path) -> Callable[..., Restored]:
    def restore(
        new: Path,
        *,
        backup: str = "",
        before: float | None = None,
        repository: str = "",
        objects: bool = True,
    ) -> Restored:
        settings = settings_of(new)
        with open_target(settings, str(place)) as target:
            manifest = target.find(backup, before)
        with open_restore(settings, str(place), NO_PROGRESS, alone=bool(repository)) as job:
            restored = job.run(manifest, repository=repository, objects=objects)
        write_keys(settings, restored)
        return restored

    return restore
