"""The places of comments in a difference: a line of a text, or a row of a table by its key.

A place is of the version of the object at a commit. Whether the line or the row is still there is
decided where the difference is shown: the later version is compared with that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.catalog.pulls.heads import read_head
from anabranch.errors import Invalid, NotFound
from anabranch.model.pull_request import DifferenceSide, Place, PullRequest
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["MAX_LINE", "MAX_ROW_BYTES", "find_place"]

MAX_LINE = 2**31 - 1
MAX_ROW_BYTES = 4096
"""The maximum length of the key of a row, as JSON."""


def find_place(
    core: Core,
    repository: Repository,
    pull: PullRequest,
    *,
    path: str,
    line: int | None,
    row: Mapping[str, Any] | None,
    side: DifferenceSide,
    commit_id: str,
) -> Place | None:
    """Returns the place of a comment, None for one on the whole object or pull request. Without a
    commit, it is of the source's present one, or of the one that was merged.

    Raises Invalid (kind invalid_place) for a line or row without a path, for both, and for values
    out of range; NotFound if there is no such commit.
    """
    if line is None and row is None:
        return None
    if not path:
        raise _invalid("a line or a row needs the path of its object")
    if line is not None and row is not None:
        raise _invalid("a comment is on a line or on a row, not on both")
    if line is not None and not 1 <= line <= MAX_LINE:
        raise _invalid(f"line {line}, which is not between 1 and {MAX_LINE}")
    if row is not None:
        _check_row(row)
    if not commit_id:
        if side is DifferenceSide.BEFORE:
            raise _invalid("a place before the change needs the commit that has it")
        commit_id = pull.source_commit_id or read_head(core, repository, pull.source)
    if core.commits.find(repository, commit_id) is None:
        raise NotFound(f"commit {commit_id[:100]} not found", kind="commit_not_found")
    return Place(commit_id=commit_id, side=side, line=line, row=None if row is None else dict(row))


def _check_row(row: Mapping[str, Any]) -> None:
    if not row:
        raise _invalid("a row needs the values of its key columns")
    try:
        size = len(msgspec.json.encode(row))
    except (TypeError, UnicodeEncodeError, ValueError) as error:
        raise _invalid("the key of the row is not JSON") from error
    if size > MAX_ROW_BYTES:
        raise _invalid(f"the key of the row has {size:,} bytes, at most {MAX_ROW_BYTES:,}")


def _invalid(reason: str) -> Invalid:
    return Invalid(
        reason, kind="invalid_place", hint="Name the path, and a line or the key of a row in it."
    )
