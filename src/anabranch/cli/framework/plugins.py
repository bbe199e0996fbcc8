"""Programs that add commands: `anabranch-NAME` on PATH is run for `anabranch NAME`, and so is a
plugin of lakectl, `lakectl-NAME`. Commands of Anabranch itself come first.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["find_plugins", "run_plugin"]

_NAME = re.compile(r"(?:anabranch|lakectl)-([A-Za-z0-9][A-Za-z0-9_-]*)")


def find_plugins(environment: Mapping[str, str]) -> dict[str, Path]:
    """Returns the program of each plugin by its name, in the order of names. Of several, one for
    Anabranch comes first, then the order of the folders in PATH.
    """
    found: dict[str, Path] = {}
    for prefix in ("anabranch-", "lakectl-"):
        for folder in environment.get("PATH", "").split(os.pathsep):
            # an empty entry would be the current folder
            for file in _programs(folder, prefix) if folder else ():
                match = _NAME.fullmatch(file.name)
                if match:
                    found.setdefault(match[1], file)
    return dict(sorted(found.items()))


def run_plugin(program: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a plugin with the terminal of this process; returns its exit code."""
    return subprocess.run([program, *arguments], env=dict(environment), check=False).returncode


def _programs(folder: str, prefix: str) -> list[Path]:
    try:
        files = sorted(Path(folder).glob(f"{prefix}*"))
    except OSError:
        return []
    return [file for file in files if file.is_file() and os.access(file, os.X_OK)]
