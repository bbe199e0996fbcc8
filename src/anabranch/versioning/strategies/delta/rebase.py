"""The source's commits under new versions, after those of the destination."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from anabranch.tables.delta.log_files import LogFiles
from anabranch.versioning.strategies.delta.commit import REBASE_FIELD, LogCommit, RebaseNote

__all__ = ["rebase"]

_TIMESTAMP = "inCommitTimestamp"


def rebase(
    commits: Sequence[LogCommit], onto: LogFiles, *, timestamps: bool
) -> Iterator[tuple[LogCommit, int, bytes]]:
    """Yields commits with their new versions and contents: they follow the last commit of a log.
    With `timestamps`, commits hold their time in milliseconds, which must grow.

    A commit stays as it is but for its `commitInfo`, which comes first.
    """
    previous = onto.commit(onto.head)
    for version, commit in enumerate(commits, start=onto.head + 1):
        info = dict(commit.info)
        info[REBASE_FIELD] = msgspec.to_builtins(
            RebaseNote(commit.identity, hashlib.sha256(previous).hexdigest())
        )
        if timestamps:
            info[_TIMESTAMP] = max(_time(info), _time(_commit_info(previous)) + 1)
        lines = [_line({"commitInfo": info})]
        lines += [
            line
            for line in commit.content.splitlines()
            if line.strip() and "commitInfo" not in json.loads(line)
        ]
        previous = b"\n".join(lines) + b"\n"
        yield commit, version, previous


def _commit_info(content: bytes) -> dict[str, Any]:
    first = json.loads(content.split(b"\n", 1)[0])
    info: dict[str, Any] = first.get("commitInfo", {})
    return info


def _time(info: dict[str, Any]) -> int:
    time = info.get(_TIMESTAMP, 0)
    return time if isinstance(time, int) else 0


def _line(action: dict[str, Any]) -> bytes:
    return json.dumps(action, ensure_ascii=False, separators=(",", ":")).encode()
