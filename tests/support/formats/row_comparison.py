"""Row differences of two files that are given by their content."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.versioning.strategies.rows.differences import row_differences


class File:
    """A version of an object."""

    content_type = "application/octet-stream"
    metadata: Mapping[str, str] = MappingProxyType({})

    def __init__(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        self._path = path
        self.size = len(content)

    def open(self) -> BinaryIO:
        return self._path.open("rb")

    def path(self) -> str:
        return str(self._path)


def compare(
    path: str, left: bytes | None, right: bytes | None, **options: Any
) -> RowDifferencePage:
    with tempfile.TemporaryDirectory() as folder:
        before, now = (
            None if content is None else File(Path(folder, name), content)
            for name, content in (("left", left), ("right", right))
        )
        options = {"amount": 1000, **options}
        return row_differences(path, before, now, folder=folder, **options)


def offset(matched_by: str, key: Sequence[str], position: Sequence[str]) -> str:
    return json.dumps({"matched_by": matched_by, "key": key, "position": position})
