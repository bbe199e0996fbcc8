"""A file system for programs that use fsspec: `anabranch://REPOSITORY/REFERENCE/PATH`.

| module | subject |
|---|---|
| file_system | the file system |
| locations | what a path of it names |
| infos | properties of files and folders |
| views | the objects at a reference: of a snapshot, or of a branch that changes |
| bulk_reads | reads of many files, or parts of files |
| written_files | files that are being written |
| transaction | files that a branch gets as one commit |
| os_errors | errors as a file system has them |
"""

from __future__ import annotations

import fsspec

from anabranch.fsspec.file_system import AnabranchFileSystem

__all__ = ["AnabranchFileSystem", "register_lakefs"]


def register_lakefs() -> None:
    """Makes `lakefs://` another name of `anabranch://` in this process."""
    fsspec.register_implementation("lakefs", AnabranchFileSystem, clobber=True)
