"""Prints the project's requirements for pip to install before the project: its own, those of all
extras and of all dependency groups (PEP 735), which pip before 25.1 cannot read.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

DOCUMENT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
PROJECT = DOCUMENT["project"]
EXTRAS = PROJECT["optional-dependencies"].values()
GROUPS = DOCUMENT["dependency-groups"].values()

# groups that others include, and extras of the project itself, are in the lists already
lines = {line for group in (*EXTRAS, *GROUPS) for line in group if isinstance(line, str)}
for requirement in sorted({*PROJECT["dependencies"], *lines}):
    if not requirement.startswith(PROJECT["name"] + "["):
        print(requirement)
