"""`formats`: the log of a Delta Lake table in a repository.

lakeFS reads it by S3 with keys that the script has; here it is read as the user who caused the
event, and the keys are not used. The log's format: PROTOCOL.md of delta-io/delta.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import msgspec

from anabranch.actions.hooks.contract import HookContext, HookLake
from anabranch.actions.hooks.lua.libraries.documents import json_text
from anabranch.actions.hooks.lua.libraries.lakefs_client import read_object, reference_path
from anabranch.errors import Invalid
from anabranch.tables.delta.checkpoints import whole_actions
from anabranch.tables.delta.log_files import LOG_FOLDER, LogFiles

__all__ = ["formats"]

_PAGE = 1000
_OK, _NOT_FOUND = 200, 404


def formats(context: HookContext) -> Mapping[str, Any]:
    """Returns the library `formats`."""

    def get_table(repository: str, reference: str, prefix: str) -> tuple[Any, Any]:
        """Returns the actions of each version that the log still has, and the metadata."""
        objects = _Objects(context.lake, reference_path(repository, reference))
        try:
            log = LogFiles(objects, f"{prefix.strip('/')}/{LOG_FOLDER}")
            if not log.commits and not log.checkpoints():
                raise ValueError(f"no Delta Lake table at {prefix}")
            return _versions(log), _metadata(log)
        except Invalid as error:  # a script has no other errors than these
            raise ValueError(error.message) from error

    def delta_client(_key: str = "", _secret: str = "", _region: str = "") -> Mapping[str, Any]:
        return {"get_table": get_table}

    return {"delta_client": delta_client}


class _Objects:
    """The objects at a reference, as the script may see them."""

    def __init__(self, lake: HookLake, place: str) -> None:
        self._lake = lake
        self._place = place

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""
        after, has_more = "", True
        while has_more:
            query = {"prefix": prefix, "amount": str(_PAGE), "after": after}
            found = self._lake.request("GET", f"{self._place}/objects/ls", query, b"")
            page = msgspec.json.decode(_content(*found))
            yield from (each["path"] for each in page["results"])
            has_more = page["pagination"]["has_more"]
            after = page["pagination"]["next_offset"]

    def open(self, path: str) -> BinaryIO:
        """Returns a stream of an object's bytes. Raises FileNotFoundError without one."""
        status, body = read_object(self._lake, self._place, path)
        if status == _NOT_FOUND:
            raise FileNotFoundError(path)
        return io.BytesIO(_content(status, body))


def _versions(log: LogFiles) -> dict[int, list[str]]:
    """Returns the actions as JSON by version; if the first commits were removed from the log,
    those of the last checkpoint stand for them.
    """
    found: dict[int, list[str]] = {}
    commits, checkpoints = log.commits, log.checkpoints()
    if checkpoints and 0 not in commits:
        last = max(checkpoints)
        found[last] = list(map(json_text, whole_actions(log, checkpoints[last])))
        commits = [version for version in commits if version > last]
    for version in commits:
        lines = log.commit(version).decode().splitlines()
        found[version] = [line for line in lines if line.strip()]
    return found


def _metadata(log: LogFiles) -> dict[str, Any]:
    """Returns the last metadata of the table."""
    for version in reversed(log.commits):
        for line in log.commit(version).splitlines():
            about = msgspec.json.decode(line).get("metaData") if line.strip() else None
            if about is not None:
                return _describe(about)
    checkpoints = log.checkpoints()
    if checkpoints:
        for action in whole_actions(log, checkpoints[max(checkpoints)]):
            if "metaData" in action:
                return _describe(action["metaData"])
    raise ValueError("the log of the table has no metadata")


def _content(status: int, body: bytes) -> bytes:
    """Returns the body of a response. Raises ValueError for a status of failure."""
    if status != _OK:
        reason = body.decode("utf-8", "replace")
        raise ValueError(f"cannot read the log of the table: HTTP {status}: {reason}")
    return body


def _describe(about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": about.get("id", ""),
        "name": about.get("name") or "",
        "description": about.get("description") or "",
        "schema_string": about.get("schemaString", ""),
        "partition_columns": list(about.get("partitionColumns") or []),
        "configuration": dict(about.get("configuration") or {}),
        "created_time": about.get("createdTime"),
    }
