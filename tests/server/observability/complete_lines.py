"""Lines of a file that another process is still writing."""

from __future__ import annotations

from pathlib import Path

__all__ = ["complete_lines"]


def complete_lines(file: Path) -> list[bytes]:
    """Returns the lines that are whole; none of a file that does not exist yet."""
    written = file.read_bytes() if file.exists() else b""
    return written.rpartition(b"\n")[0].splitlines()
