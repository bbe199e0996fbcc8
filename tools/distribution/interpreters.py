"""The Pythons that wheels are tried on: of the path, and those that `tools/pythons` has got."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

__all__ = ["VERSIONS", "emulated_aarch64", "interpreter", "wheel_for"]

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""Those that a wheel is for."""


def interpreter(version: str) -> str | None:
    """Returns the program of a version of Python, None if there is none here."""
    # not by its link: environments would look for the libraries beside that
    got = (_folder() / f"python{version}").resolve()
    for name in (f"python{version}", str(got)):
        # a program of that name may be the stand-in of a version that is not installed
        tried = [name, "-c", ""]
        if shutil.which(name) and not subprocess.run(tried, stderr=subprocess.DEVNULL).returncode:  # noqa: PLW1510
            return name
    return None


def emulated_aarch64() -> str | None:
    """Returns the program that runs Python 3.11 of aarch64 by an emulator, None without one, or if
    this is such a machine.
    """
    program = _folder() / "python-aarch64"
    return str(program) if program.exists() and platform.machine() != "aarch64" else None


def wheel_for(machine: str, folder: Path) -> Path | None:
    """Returns the wheel of a folder for a processor, such as `x86_64`; None without one."""
    wheels = [each for each in folder.glob("*.whl") if each.stem.endswith(machine)]
    if len(wheels) > 1:
        raise SystemExit(f"{folder} has {len(wheels)} wheels for {machine}")
    return wheels[0].resolve() if wheels else None


def _folder() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches, "anabranch/pythons/bin")
