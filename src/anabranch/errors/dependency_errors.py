"""The messages of other libraries' errors, as clients may see them.

DuckDB appends native stack traces to its internal errors, pybind11 the Python files that called it,
and Arrow the paths of temporary files and of its own sources.
"""

from __future__ import annotations

import re

__all__ = ["reason_of"]

_TRACE = re.compile(
    r"\n\s*(?:Stack Trace:|At:\s*\n|Traceback \(most recent|This error signals)"
    r"|\n[^\n]*(?:\[0x|\+0x)"
)
_PATH = re.compile(r"""(?:file:/+|(?<![\w.:/*-])/)(?:[^\s"',;)/]+/)+[^\s"',;)]*""")
_HIDDEN = "the file"


def reason_of(error: Exception, *, given: str = "") -> str:
    """Returns the message of an error without stack traces and without the paths of this machine;
    paths in `given`, a text of the client, and of files in them stay. It may have several lines.
    """
    text = _TRACE.split(str(error).strip(), maxsplit=1)[0].strip()
    shown = _PATH.sub(lambda path: path[0] if _is_given(path[0], given) else _HIDDEN, text)
    return shown or type(error).__name__


def _is_given(path: str, given: str) -> bool:
    return path in given or path.rpartition("/")[0] in given
