"""The versions of Anabranch, Python, SQLite and the operating system."""

from __future__ import annotations

import platform
import sys

import apsw

from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["check_versions"]

ABOUT = "versions"


def check_versions(own_version: str) -> list[CheckResult]:
    """Returns one result that lists all versions."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    named = {
        "Anabranch": own_version,
        "Python": python,
        "SQLite": apsw.sqlite_lib_version(),
        platform.system(): platform.release(),
    }
    message = ", ".join(f"{name} {version}" for name, version in named.items())
    return [CheckResult(ABOUT, State.SOUND, message)]
