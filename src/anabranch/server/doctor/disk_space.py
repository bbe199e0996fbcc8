"""Room on the disks of the folders that the server writes to, and the right to write there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from anabranch.server.config.settings import Settings
from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["check_folders", "written_folders"]

ABOUT = "folders"
LEAST_BYTES = 1 << 30
"""With less room than that, a folder's disk is nearly full."""


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


def check_folders(folders: Mapping[str, Path], least_bytes: int = LEAST_BYTES) -> list[CheckResult]:
    """Looks at each folder, or at the one in which it will be made."""
    return [_check(name, path, least_bytes) for name, path in folders.items()]


def _check(name: str, path: Path, least_bytes: int) -> CheckResult:
    there = path.absolute()
    while not os.path.exists(there):  # noqa: PTH110  no error for one that may not be looked at
        there = there.parent
    if not there.is_dir():
        return CheckResult(
            ABOUT, State.WRONG, f"{name}: {there} is no folder", f"Set {name} to one."
        )
    if not os.access(there, os.W_OK | os.X_OK):
        message = f"{name}: this user may not write to {there}"
        return CheckResult(ABOUT, State.WRONG, message, f"Run `chown` on it, or set {name}.")
    free = shutil.disk_usage(there).free
    if free < least_bytes:
        message = f"{name}: {free // 1_000_000:,} MB are left on the disk of {there}"
        return CheckResult(ABOUT, State.DOUBTFUL, message, "Make room, or move the folder.")
    return CheckResult(ABOUT, State.SOUND, f"{name}: {there}, {free // 1_000_000_000:,} GB free")
