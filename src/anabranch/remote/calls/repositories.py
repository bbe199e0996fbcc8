"""Calls of repositories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from anabranch.client.rest_client import RestClient
from anabranch.errors import Invalid
from anabranch.model.names import check_repository
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.remote.call import Call, Exchange, Listing, Pagination, Reply, WirePage, change, read
from anabranch.remote.calls.results import nothing
from anabranch.remote.wire import WireRepository

__all__ = ["create", "delete", "delete_metadata", "get", "list_page", "metadata", "set_metadata"]


class _StorageConfig(msgspec.Struct, frozen=True):
    default_namespace_prefix: str = ""

    def default_namespace(self, name: str) -> str:
        """Returns the storage namespace of a repository that names none. Raises Invalid."""
        if not self.default_namespace_prefix:
            raise Invalid(
                f"no storage namespace is given for {name!r}",
                kind="storage_namespace_missing",
                hint="Name one, or set blockstore.default_namespace_prefix on the server.",
            )
        return f"{self.default_namespace_prefix.rstrip('/')}/{name}"


class _Config(msgspec.Struct, frozen=True):
    storage_config: _StorageConfig


_CONFIG = msgspec.json.Decoder(_Config)
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
        "default_branch": default_branch,
        "read_only": read_only,
        "sample_data": sample_data,
    }
    return _Creation(body, storage_namespace, bare)


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


@dataclass(frozen=True, slots=True)
class _Creation:
    """Creates a repository. Without a storage namespace, the server is asked for its prefix."""

    body: Mapping[str, Any]
    storage_namespace: str | None
    bare: bool

    def run(self, client: RestClient) -> Repository:
        """Returns the new repository."""
        namespace = self.storage_namespace
        if namespace is None:
            config = Exchange(read(["config"]), _config).run(client).storage_config
            namespace = config.default_namespace(self.body["name"])
        body = {**self.body, "storage_namespace": namespace}
        request = change("POST", ["repositories"], body, bare=self.bare)
        return Exchange(request, _one).run(client)


def _config(reply: Reply) -> _Config:
    return _CONFIG.decode(reply.body)


def _one(reply: Reply) -> Repository:
    return _ONE.decode(reply.body).repository()


def _page(body: bytes) -> tuple[list[Repository], Pagination]:
    page = _PAGE.decode(body)
    return [each.repository() for each in page.results], page.pagination


def _metadata(reply: Reply) -> dict[str, str]:
    return _METADATA.decode(reply.body)
