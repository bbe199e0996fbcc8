"""Check that the keys of the installation are valid and private, and set if servers share them.

It creates no keys.
"""

from __future__ import annotations

from pathlib import Path

from anabranch.access.credentials.key_file import load_or_create_key
from anabranch.server.config.settings import Settings
from anabranch.server.doctor.check_result import CheckResult, State, errors_collected
from anabranch.server.installation.keys import key_files
from anabranch.server.stores.keyvalue_stores import is_on_this_machine

__all__ = ["check_keys"]

ABOUT = "keys"
_GROUP_AND_OTHERS = 0o077


def check_keys(settings: Settings) -> list[CheckResult]:
    """Checks the file of every key that is not set."""
    results: list[CheckResult] = []
    files = dict(key_files(settings))
    for name, path in files.items():
        if path.exists():
            results += _check_file(name, path)
        elif settings.database.type != "mem":
            message = f"{name} is neither set nor in {path}: the server will create it"
            results.append(CheckResult(ABOUT, State.SOUND, message))
    if files and not is_on_this_machine(settings.database):
        message = f"{' and '.join(files)}: not set, so that each data folder has its own key"
        hint = "Set them to the same values for all servers on this database."
        results.append(CheckResult(ABOUT, State.DOUBTFUL, message, hint))
    return results or [CheckResult(ABOUT, State.SOUND, "all keys are set")]


def _check_file(name: str, path: Path) -> list[CheckResult]:
    results: list[CheckResult] = []
    with errors_collected(ABOUT, results, name):
        load_or_create_key(path, lambda _: b"")
        if path.stat().st_mode & _GROUP_AND_OTHERS:
            message = f"{name}: other users of this machine may read {path}"
            results.append(CheckResult(ABOUT, State.DOUBTFUL, message, f"chmod 600 {path}"))
        else:
            results.append(CheckResult(ABOUT, State.SOUND, f"{name} is in {path}"))
    return results
