"""The environment of a process: what an interpreter needs of this one's, which has secrets."""

from __future__ import annotations

import os

__all__ = ["interpreter_environment"]

_NAMES = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")


def interpreter_environment() -> dict[str, str]:
    """Returns the variables by which an interpreter finds its programs, modules and libraries, its
    language, time zone and temporary files.
    """
    return {name: os.environ[name] for name in _NAMES if name in os.environ}
