"""Calls of a process that merges, performed with the rights of the merge's caller.

`called_conflict` is the side of the process.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    if call == "read":
        version = _version(conflict, message)
        if version is None:
            return None
        about = {"content_type": version.content_type, "metadata": dict(version.metadata)}
        return {"size": version.size, **about}
    if call == "file":
        version = _version(conflict, message)
        return None if version is None else version.path()
    if call == "list":
        return list(conflict.list(message["side"], message["prefix"]))
    if output is None:
        raise ValueError(f"the call {call!r} is not allowed")
    path = message["path"]
    if call == "create":
        given = {name: message[name] for name in ("content_type", "metadata")}
        file = Path(message["file"])
        if file.resolve().parent != Path(conflict.work_folder).resolve():
            raise ValueError("new content is not in the work folder")
        with output.create(path, **given) as stream, file.open("rb") as written:
            shutil.copyfileobj(written, stream)
        file.unlink()
    elif call == "take":
        output.take(path, message["side"])
    elif call == "delete":
        output.delete(path)
    else:
        raise ValueError(f"unknown call {call!r}")
    return None


def _version(conflict: PathConflict, message: Mapping[str, Any]) -> ObjectVersion | None:
    side, path = message["side"], message["path"]
    if path != conflict.path:
        return conflict.read(side, path)
    versions = {
        "base": conflict.base,
        "source": conflict.source,
        "destination": conflict.destination,
    }
    return versions[side]
