"""Calls of tags."""

from __future__ import annotations

import msgspec

from anabranch.model.page import Page
from anabranch.model.references.tag import Tag
from anabranch.remote.call import Call, Exchange, Listing, Pagination, Reply, WirePage, change, read
from anabranch.remote.calls.results import nothing
from anabranch.remote.wire import WireRef

__all__ = ["create", "delete", "get", "list_page"]

_ONE = msgspec.json.Decoder(WireRef)
_PAGE = msgspec.json.Decoder(WirePage[WireRef])


def create(repository: str, name: str, reference: str, *, force: bool = False) -> Call[Tag]:
    """Creates a tag at the commit of a reference."""
    body = {"id": name, "ref": reference, "force": force}
    return Exchange(change("POST", ["repositories", repository, "tags"], body), _one, keyed=True)


def get(repository: str, name: str) -> Call[Tag]:
    """Returns a tag. Raises NotFound."""
    return Exchange(read(["repositories", repository, "tags", name]), _one)


def list_page(
    repository: str, *, prefix: str = "", after: str = "", amount: int
) -> Call[Page[Tag]]:
    """Returns a page of tags by name."""
    request = read(["repositories", repository, "tags"], prefix=prefix, after=after)
    return Listing(request, _page, amount)


def delete(repository: str, name: str, *, force: bool = False) -> Call[None]:
    """Deletes a tag."""
    request = change("DELETE", ["repositories", repository, "tags", name], force=force)
    return Exchange(request, nothing, keyed=True)


def _one(reply: Reply) -> Tag:
    return _ONE.decode(reply.body).tag()


def _page(body: bytes) -> tuple[list[Tag], Pagination]:
    page = _PAGE.decode(body)
    return [each.tag() for each in page.results], page.pagination
