"""The keys of the installation: present, whole, private, and shared where they must be.

Nothing is made here that is not there yet.
"""

from __future__ import annotations

from pathlib import Path

from anabranch.access.key_file import load_or_create_key
from anabranch.server.config.settings import Settings
from anabranch.server.doctor.check_result import CheckResult, State, collected
from anabranch.server.installation.keys import key_files
from anabranch.server.stores.keyvalue_stores import is_on_this_machine

__all__ = ["check_keys"]

ABOUT = "keys"
_FOR_OTHERS = 0o077


def check_keys(settings: Settings) -> list[CheckResult]:
    """Looks at every key that the settings do not give."""
    findings: list[CheckResult] = []
    kept = dict(key_files(settings))
    for name, path in kept.items():
        if path.exists():
            findings += _check_file(name, path)
        elif settings.database.type != "mem":
            message = f"{name} is neither set nor in {path}: the server will make it"
            findings.append(CheckResult(ABOUT, State.SOUND, message))
    if kept and not is_on_this_machine(settings.database):
        message = f"{' and '.join(kept)}: not set, so that each data folder has a key of its own"
        hint = "Set them, and set them alike for all servers on this database."
        findings.append(CheckResult(ABOUT, State.DOUBTFUL, message, hint))
    return findings or [CheckResult(ABOUT, State.SOUND, "all keys are set")]


def _check_file(name: str, path: Path) -> list[CheckResult]:
    findings: list[CheckResult] = []
    with collected(ABOUT, findings, name):
        load_or_create_key(path, lambda _: b"")
        if path.stat().st_mode & _FOR_OTHERS:
            message = f"{name}: others may read {path}"
            findings.append(CheckResult(ABOUT, State.DOUBTFUL, message, f"chmod 600 {path}"))
        else:
            findings.append(CheckResult(ABOUT, State.SOUND, f"{name} is in {path}"))
    return findings
