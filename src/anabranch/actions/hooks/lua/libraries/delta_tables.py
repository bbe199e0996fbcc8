"""`formats`: the log of a Delta Lake table in a repository.

lakeFS reads it by S3 with keys that the script has; here it is read as the user who caused the
event, and the keys are not used. The log's format: PROTOCOL.md of delta-io/delta.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.actions.hooks.contract import HookContext, HookLake
from anabranch.actions.hooks.lua.libraries.documents import json_text
from anabranch.actions.hooks.lua.libraries.lakefs_client import read_object, reference_path

__all__ = ["formats"]

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_PAGE = 1000


def formats(context: HookContext) -> Mapping[str, Any]:
    """Returns the library `formats`."""

    def get_table(repository: str, reference: str, prefix: str) -> tuple[Any, Any]:
        """Returns the actions of each version that the log still has, and the metadata."""
        log = _Log(context.lake, repository, reference, prefix)
        return log.versions(), log.metadata()

    def delta_client(_key: str = "", _secret: str = "", _region: str = "") -> Mapping[str, Any]:
        return {"get_table": get_table}

    return {"delta_client": delta_client}


class _Log:
    """The log of the table at a prefix."""

    def __init__(self, lake: HookLake, repository: str, reference: str, prefix: str) -> None:
        self._lake = lake
        self._place = reference_path(repository, reference)
        self._folder = f"{prefix.strip('/')}/_delta_log/"
        names = self._names()
        self._commits = sorted(name for name in names if _COMMIT.fullmatch(name))
        self._checkpoints = sorted(name for name in names if _CHECKPOINT.fullmatch(name))
        if not self._commits and not self._checkpoints:
            raise ValueError(f"no Delta Lake table at {prefix}")

    def versions(self) -> dict[int, list[str]]:
        """Returns the actions as JSON by version; if the first commits were removed from the log,
        those of the last checkpoint stand for them.
        """
        found: dict[int, list[str]] = {}
        names = self._commits
        if self._checkpoints and not (names and int(names[0][:20]) == 0):
            checkpoint = self._checkpoints[-1]
            found[int(checkpoint[:20])] = list(map(json_text, self._checkpoint(checkpoint)))
            names = [name for name in names if name[:20] > checkpoint[:20]]
        for name in names:
            lines = self._read(name).decode().splitlines()
            found[int(name[:20])] = [line for line in lines if line.strip()]
        return found

    def metadata(self) -> dict[str, Any]:
        """Returns the last metadata of the table."""
        for name in reversed(self._commits):
            for line in self._read(name).splitlines():
                about = msgspec.json.decode(line).get("metaData") if line.strip() else None
                if about is not None:
                    return _described(about)
        for action in self._checkpoint(self._checkpoints[-1]) if self._checkpoints else ():
            if "metaData" in action:
                return _described(action["metaData"])
        raise ValueError("the log of the table has no metadata")

    def _checkpoint(self, name: str) -> list[dict[str, Any]]:
        """Returns the actions of a checkpoint."""
        import pyarrow.parquet as pq  # noqa: PLC0415  an optional library

        rows = pq.read_table(io.BytesIO(self._read(name))).to_pylist(maps_as_pydicts="strict")
        return [
            {kind: _without_nulls(action)} for row in rows for kind, action in row.items() if action
        ]

    def _names(self) -> list[str]:
        names: list[str] = []
        after, has_more = "", True
        while has_more:
            query = {"prefix": self._folder, "amount": str(_PAGE), "after": after}
            found = self._lake.request("GET", f"{self._place}/objects/ls", query, b"")
            page = msgspec.json.decode(_content(*found))
            names += [each["path"].removeprefix(self._folder) for each in page["results"]]
            has_more = page["pagination"]["has_more"]
            after = page["pagination"]["next_offset"]
        return names

    def _read(self, name: str) -> bytes:
        return _content(*read_object(self._lake, self._place, self._folder + name))


def _content(status: int, body: bytes) -> bytes:
    """Returns the body of a response. Raises ValueError for a status of failure."""
    if status != 200:  # noqa: PLR2004
        reason = body.decode("utf-8", "replace")
        raise ValueError(f"cannot read the log of the table: HTTP {status}: {reason}")
    return body


def _described(about: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": about.get("id", ""),
        "name": about.get("name") or "",
        "description": about.get("description") or "",
        "schema_string": about.get("schemaString", ""),
        "partition_columns": list(about.get("partitionColumns") or []),
        "configuration": dict(about.get("configuration") or {}),
        "created_time": about.get("createdTime"),
    }


def _without_nulls(action: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in action.items()
        if value is not None and not name.endswith("_parsed")
    }
