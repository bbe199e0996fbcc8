"""Calls of commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from anabranch.model.commits.commit import Commit
from anabranch.model.page import Page
from anabranch.remote.call import Call, Exchange, Listing, Pagination, WirePage, change, read
from anabranch.remote.calls.results import commit_result, refuse_committer
from anabranch.remote.wire import WireCommit

__all__ = ["commit", "get", "log"]

_PAGE = msgspec.json.Decoder(WirePage[WireCommit])


def commit(
    repository: str,
    branch: str,
    *,
    message: str,
    committer: str | None = None,
    metadata: Mapping[str, str] | None = None,
    date: int | None = None,
    allow_empty: bool = False,
    force: bool = False,
) -> Call[Commit]:
    """Commits the staged changes of a branch; `date` is in seconds since 1970, None for now. Raises
    NoChanges unless `allow_empty`, NotSupported for a `committer`.
    """
    refuse_committer(committer)
    body = {
        "message": message,
        "metadata": dict(metadata or {}),
        "date": date,
        "allow_empty": allow_empty,
        "force": force,
    }
    request = change("POST", ["repositories", repository, "branches", branch, "commits"], body)
    return Exchange(request, commit_result, keyed=True)


def get(repository: str, reference: str) -> Call[Commit]:
    """Returns the commit of a reference."""
    return Exchange(read(["repositories", repository, "commits", reference]), commit_result)


def log(
    repository: str,
    reference: str,
    *,
    after: str = "",
    amount: int,
    limit: bool = False,
    first_parent: bool = False,
    since: datetime | None = None,
    stop_at: str = "",
    objects: Sequence[str] = (),
    prefixes: Sequence[str] = (),
) -> Call[Page[Commit]]:
    """Returns a page of a reference's history, newest first; with `objects` or `prefixes`, of the
    commits that changed one of them.
    """
    request = read(
        ["repositories", repository, "refs", reference, "commits"],
        after=after,
        limit=limit,
        first_parent=first_parent,
        since=None if since is None else since.astimezone(UTC).isoformat(),
        stop_at=stop_at,
        objects=tuple(objects),
        prefixes=tuple(prefixes),
    )
    return Listing(request, _page, amount)


def _page(body: bytes) -> tuple[list[Commit], Pagination]:
    page = _PAGE.decode(body)
    return [each.commit() for each in page.results], page.pagination
