"""Calls of a process that merges, performed with the rights of the merge's caller.

`called_conflict` is the side of the process.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

from anabranch.versioning.strategies.contract import MergeOutput, ObjectVersion, PathConflict

__all__ = ["answer_call"]


def answer_call(
    message: Mapping[str, Any], conflict: PathConflict, output: MergeOutput | None
) -> Any:
    """Performs a call of a strategy's process, and returns its result as a JSON value. Without
    `output`, nothing is written. Raises ValueError for a call that is none, and what reading and
    writing objects raises.
    """
    call = message["call"]
    if call in {"read", "read_table_file"}:
        version = _version(conflict, message)
        if version is None:
            return None
        about = {"content_type": version.content_type, "metadata": dict(version.metadata)}
        return {"size": version.size, **about}
    if call in {"file", "table_file"}:
        version = _version(conflict, message)
        return None if version is None else version.path()
    if call == "list":
        return list(conflict.list(message["side"], message["prefix"]))
    if output is None:
        raise ValueError(f"the call {call!r} is not allowed")
    path = message["path"]
    if call == "create":
        given = {name: message[name] for name in ("content_type", "metadata")}
        _fill(output.create(path, **given), conflict, message)
    elif call == "create_table_file":
        _fill(output.create_table_file(message["area"], path), conflict, message)
    elif call == "take":
        output.take(path, message["side"])
    elif call == "delete":
        output.delete(path)
    else:
        raise ValueError(f"unknown call {call!r}")
    return None


def _fill(
    creation: AbstractContextManager[BinaryIO], conflict: PathConflict, message: Mapping[str, Any]
) -> None:
    """Moves a file of the process into what it creates."""
    file = Path(message["file"])
    if file.resolve().parent != Path(conflict.work_folder).resolve():
        raise ValueError("new content is not in the work folder")
    with creation as stream, file.open("rb") as written:
        shutil.copyfileobj(written, stream)
    file.unlink()


def _version(conflict: PathConflict, message: Mapping[str, Any]) -> ObjectVersion | None:
    path = message["path"]
    if "area" in message:
        return conflict.read_table_file(message["area"], path)
    side = message["side"]
    if path != conflict.path:
        return conflict.read(side, path)
    versions = {
        "base": conflict.base,
        "source": conflict.source,
        "destination": conflict.destination,
    }
    return versions[side]
