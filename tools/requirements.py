"""Prints the project's requirements, extras included, for pip to install before the project."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"].values()

for requirement in sorted(
    {*PROJECT["dependencies"], *(line for extra in EXTRAS for line in extra)}
):
    if not requirement.startswith(PROJECT["name"] + "["):
        print(requirement)
