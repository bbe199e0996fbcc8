"""How much `pip install anabranch` brings: packages, and bytes without the bytecode that Python
writes when it first imports a module.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

__all__ = ["CoreInstall", "limits", "measure"]

_INSTALLERS = {"pip", "setuptools", "pkg_resources", "_distutils_hack"}


class CoreInstall(NamedTuple):
    """Packages and megabytes (10⁶ bytes) of an installation, or the limits of both."""

    packages: int
    megabytes: float


def limits() -> CoreInstall:
    """Returns how large it may be, from pyproject.toml."""
    tool = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["anabranch"]
    return CoreInstall(**tool["core-install"])


def measure(site_packages: Path) -> CoreInstall:
    """Measures what is installed in a folder, but for the programs that install."""
    size = packages = 0
    for entry in site_packages.iterdir():
        if entry.name.partition("-")[0] in _INSTALLERS:
            continue
        packages += entry.name.endswith(".dist-info")
        files = entry.rglob("*") if entry.is_dir() else [entry]
        size += sum(
            file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc"
        )
    return CoreInstall(packages, size / 1e6)
