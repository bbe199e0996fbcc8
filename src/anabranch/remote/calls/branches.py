"""Calls of branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.commits.conflict import Resolution
from anabranch.model.page import Page
from anabranch.model.references.branch import Branch, ResetKind
from anabranch.remote.call import Call, Exchange, Listing, Pagination, Reply, WirePage, change, read
from anabranch.remote.calls.results import (
    change_page,
    commit_result,
    nothing,
    refuse_committer,
)
from anabranch.remote.wire import WireCommit, WireRef

__all__ = [
    "changes",
    "cherry_pick",
    "create",
    "delete",
    "get",
    "hard_reset",
    "list_page",
    "reset",
    "revert",
]

_ONE = msgspec.json.Decoder(WireRef)
_PAGE = msgspec.json.Decoder(WirePage[WireRef])


class _Reverts(msgspec.Struct, frozen=True):
    results: list[WireCommit]


_REVERTS = msgspec.json.Decoder(_Reverts)


def create(
    repository: str, name: str, source: str, *, hidden: bool = False, force: bool = False
) -> Call[Branch]:
    """Creates a branch at the commit of `source`; listings omit it if it is `hidden`."""
    body = {"name": name, "source": source, "hidden": hidden, "force": force}

    def created(reply: Reply) -> Branch:
        commit_id = reply.body.decode()  # the response is this id alone
        return Branch(id=name, commit_id=commit_id, staging_token="", hidden=hidden)

    request = change("POST", ["repositories", repository, "branches"], body)
    return Exchange(request, created, keyed=True)


def get(repository: str, name: str) -> Call[Branch]:
    """Returns a branch. Raises NotFound."""
    return Exchange(read(_branch(repository, name), include_hidden=True), _one)


def list_page(
    repository: str,
    *,
    prefix: str = "",
    after: str = "",
    amount: int,
    show_hidden: bool = False,
) -> Call[Page[Branch]]:
    """Returns a page of branches by name."""
    segments = ["repositories", repository, "branches"]
    request = read(
        segments, prefix=prefix, after=after, show_hidden=show_hidden, include_hidden=show_hidden
    )
    return Listing(request, _page, amount)


def delete(repository: str, name: str, *, force: bool = False) -> Call[None]:
    """Deletes a branch with its uncommitted changes."""
    request = change("DELETE", _branch(repository, name), force=force)
    return Exchange(request, nothing, keyed=True)


def reset(
    repository: str, name: str, kind: ResetKind, path: str = "", *, force: bool = False
) -> Call[None]:
    """Drops uncommitted changes: all, those under a prefix, or those of one object."""
    body = {"type": kind, "path": path, "force": force}
    return Exchange(change("PUT", _branch(repository, name), body), nothing)


def hard_reset(repository: str, name: str, reference: str, *, force: bool = False) -> Call[None]:
    """Moves a branch to the commit of a reference. Raises DirtyBranch."""
    segments = [*_branch(repository, name), "hard_reset"]
    return Exchange(change("PUT", segments, ref=reference, force=force), nothing, keyed=True)


def changes(
    repository: str,
    name: str,
    *,
    prefix: str = "",
    after: str = "",
    delimiter: str = "",
    amount: int,
) -> Call[Page[Change]]:
    """Returns a page of a branch's uncommitted changes."""
    request = read(
        [*_branch(repository, name), "diff"],
        prefix=prefix,
        after=after,
        delimiter=delimiter,
        include_sides=True,
    )
    return Listing(request, change_page, amount)


def revert(
    repository: str,
    name: str,
    *references: str,
    parent_number: int = 0,
    committer: str | None = None,
    message: str = "",
    metadata: dict[str, str] | None = None,
    allow_empty: bool = False,
    force: bool = False,
    strategy: str = "",
    resolutions: Sequence[Resolution] = (),
) -> Call[Sequence[Commit]]:
    """Commits the inverse of the changes of each commit, in order; either all or none. Raises
    NotSupported for a `committer`.
    """
    refuse_committer(committer)
    body = {
        "refs": references,
        "parent_number": parent_number,
        "commit_overrides": _overrides(message, metadata),
        "allow_empty": allow_empty,
        "force": force,
        "strategy": strategy,
        "resolutions": resolutions,
    }
    request = change("POST", [*_branch(repository, name), "reverts"], body)
    return Exchange(request, _reverts, keyed=True)


def cherry_pick(
    repository: str,
    name: str,
    reference: str,
    *,
    parent_number: int | None = None,
    committer: str | None = None,
    message: str = "",
    metadata: dict[str, str] | None = None,
    force: bool = False,
    strategy: str = "",
    resolutions: Sequence[Resolution] = (),
) -> Call[Commit]:
    """Applies the changes of another commit to a branch. Raises NotSupported for a `committer`."""
    refuse_committer(committer)
    body = {
        "ref": reference,
        "parent_number": parent_number,
        "commit_overrides": _overrides(message, metadata),
        "force": force,
        "strategy": strategy,
        "resolutions": resolutions,
    }
    request = change("POST", [*_branch(repository, name), "cherry-pick"], body)
    return Exchange(request, commit_result, keyed=True)


def _branch(repository: str, name: str) -> list[str]:
    return ["repositories", repository, "branches", name]


def _overrides(message: str, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    return {"message": message} | ({} if metadata is None else {"metadata": dict(metadata)})


def _one(reply: Reply) -> Branch:
    return _ONE.decode(reply.body).branch()


def _page(body: bytes) -> tuple[list[Branch], Pagination]:
    page = _PAGE.decode(body)
    return [each.branch() for each in page.results], page.pagination


def _reverts(reply: Reply) -> Sequence[Commit]:
    return [each.commit() for each in _REVERTS.decode(reply.body).results]
