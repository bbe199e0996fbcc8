"""The keys of the installation: there, whole, nobody else's to read, and shared where they must be.

Nothing is made here that is not there yet.
"""

from __future__ import annotations

from pathlib import Path

from anabranch.access.kept_key import kept_key
from anabranch.server.doctor.finding import Finding, State, collected
from anabranch.server.installation_keys import key_files
from anabranch.server.keyvalue_stores import is_on_this_machine
from anabranch.server.settings import Settings

__all__ = ["check_keys"]

ABOUT = "keys"
_FOR_OTHERS = 0o077


def check_keys(settings: Settings) -> list[Finding]:
    """Looks at every key that the settings do not give."""
    findings: list[Finding] = []
    kept = dict(key_files(settings))
    for name, path in kept.items():
        if path.exists():
            findings += _check_file(name, path)
        elif settings.database.type != "mem":
            message = f"{name} is neither set nor in {path}: the server will make it"
            findings.append(Finding(ABOUT, State.SOUND, message))
    if kept and not is_on_this_machine(settings.database):
        message = f"{' and '.join(kept)}: not set, so that each data folder has a key of its own"
        hint = "Set them, and set them alike for all servers on this database."
        findings.append(Finding(ABOUT, State.DOUBTFUL, message, hint))
    return findings or [Finding(ABOUT, State.SOUND, "all keys are set")]


def _check_file(name: str, path: Path) -> list[Finding]:
    findings: list[Finding] = []
    with collected(ABOUT, findings, name):
        kept_key(path, lambda _: b"")
        if path.stat().st_mode & _FOR_OTHERS:
            message = f"{name}: others may read {path}"
            findings.append(Finding(ABOUT, State.DOUBTFUL, message, f"chmod 600 {path}"))
        else:
            findings.append(Finding(ABOUT, State.SOUND, f"{name} is in {path}"))
    return findings
