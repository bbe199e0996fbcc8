"""Calls of repositories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from anabranch.model.names import check_repository
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.remote.call import Call, Exchange, Listing, Pagination, Reply, WirePage, change, read
from anabranch.remote.calls.results import nothing
from anabranch.remote.wire import WireRepository

__all__ = ["create", "delete", "delete_metadata", "get", "list_page", "metadata", "set_metadata"]

_ONE = msgspec.json.Decoder(WireRepository)
_PAGE = msgspec.json.Decoder(WirePage[WireRepository])
_METADATA = msgspec.json.Decoder(dict[str, str])


def create(
    name: str,
    storage_namespace: str | None = None,
    *,
    default_branch: str = "main",
    bare: bool = False,
    read_only: bool = False,
    sample_data: bool = False,
) -> Call[Repository]:
    """Creates a repository in a storage namespace of its own, by default that of its name below the
    server's default prefix. Raises AlreadyExists, and Invalid for a name or a namespace that cannot
    be used.
    """
    check_repository(name)  # the server checks it with the form of the request
    body = {
        "name": name,
        "storage_namespace": storage_namespace,
        "default_branch": default_branch,
        "read_only": read_only,
        "sample_data": sample_data,
    }
    return Exchange(change("POST", ["repositories"], body, bare=bare), _one)


def get(name: str) -> Call[Repository]:
    """Returns a repository. Raises NotFound, and Gone while it is being deleted."""
    return Exchange(read(["repositories", name]), _one)


def list_page(
    *, prefix: str = "", after: str = "", amount: int, search: str = ""
) -> Call[Page[Repository]]:
    """Returns a page of repositories by name, of those whose name contains `search`."""
    request = read(["repositories"], prefix=prefix, after=after, search=search)
    return Listing(request, _page, amount)


def delete(name: str, *, force: bool = False) -> Call[None]:
    """Deletes a repository; its objects stay in the store. Raises Conflict, without `force`, if
    images reference any of them.
    """
    return Exchange(change("DELETE", ["repositories", name], force=force), nothing)


def metadata(name: str) -> Call[dict[str, str]]:
    """Returns the metadata of a repository."""
    return Exchange(read(["repositories", name, "metadata"]), _metadata)


def set_metadata(name: str, metadata: Mapping[str, str]) -> Call[None]:
    """Sets keys of a repository's metadata; other keys are unchanged."""
    body = {"metadata": dict(metadata)}
    segments = ["repositories", name, "metadata"]
    return Exchange(change("POST", segments, body, repeatable=True), nothing)


def delete_metadata(name: str, keys: Sequence[str]) -> Call[None]:
    """Removes keys of a repository's metadata."""
    segments = ["repositories", name, "metadata"]
    return Exchange(change("DELETE", segments, {"keys": list(keys)}, repeatable=True), nothing)


def _one(reply: Reply) -> Repository:
    return _ONE.decode(reply.body).repository()


def _page(body: bytes) -> tuple[list[Repository], Pagination]:
    page = _PAGE.decode(body)
    return [each.repository() for each in page.results], page.pagination


def _metadata(reply: Reply) -> dict[str, str]:
    return _METADATA.decode(reply.body)
