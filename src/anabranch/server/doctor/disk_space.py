"""Check that the server may write to its folders, and that their disks have free space."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from anabranch.server.config.settings import Settings
from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["check_folders", "written_folders"]

ABOUT = "folders"
MIN_FREE_BYTES = 1 << 30
"""A disk with less free space is reported as nearly full."""


def written_folders(settings: Settings) -> dict[str, Path]:
    """Returns the folders that a server with these settings writes to, by name of the setting."""
    folders = {
        "data": settings.data,
        "committed.local_cache.dir": settings.committed.local_cache.dir,
    }
    if settings.database.type == "local":
        folders["database.local.path"] = settings.database.local.path
    if settings.blockstore.type == "local":
        folders["blockstore.local.path"] = settings.blockstore.local.path
    return folders


def check_folders(
    folders: Mapping[str, Path], min_free_bytes: int = MIN_FREE_BYTES
) -> list[CheckResult]:
    """Checks each folder or, if it does not exist yet, the folder in which it will be created."""
    return [_check(name, path, min_free_bytes) for name, path in folders.items()]


def _check(name: str, path: Path, min_free_bytes: int) -> CheckResult:
    existing = path.absolute()
    while not os.path.exists(existing):  # noqa: PTH110  no error without permission to read
        existing = existing.parent
    if not existing.is_dir():
        return CheckResult(
            ABOUT, State.WRONG, f"{name}: {existing} is not a folder", f"Set {name} to a folder."
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        message = f"{name}: this user may not write to {existing}"
        return CheckResult(ABOUT, State.WRONG, message, f"Run `chown` on it, or set {name}.")
    free = shutil.disk_usage(existing).free
    if free < min_free_bytes:
        message = f"{name}: {free // 1_000_000:,} MB are free on the disk of {existing}"
        return CheckResult(ABOUT, State.DOUBTFUL, message, "Free disk space, or move the folder.")
    return CheckResult(ABOUT, State.SOUND, f"{name}: {existing}, {free // 1_000_000_000:,} GB free")
