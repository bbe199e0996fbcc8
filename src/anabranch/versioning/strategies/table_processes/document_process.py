"""The process of one merge of a JSON document or a text: `table_process` without the libraries of
tables, so that its fork server is small.
"""

from __future__ import annotations

from anabranch.child_process.forking import import_libraries
from anabranch.versioning.strategies.table_processes.table_process import main

__all__ = ["main", "prepare"]


def prepare() -> None:
    """Imports what `main` needs."""
    import_libraries()
