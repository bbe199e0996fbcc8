"""Listings of the objects that a user may read."""

from __future__ import annotations

from anabranch import _kernel as kernel
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.read_permissions.readable_pages import ReadablePager
from anabranch.model.names import decode_key, encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import Value
from anabranch.versioning.references.references import Resolved

__all__ = ["list_objects"]

_Row = tuple[bytes, Value | None]


def list_objects(
    core: Core,
    repository: Repository,
    resolved: Resolved,
    readable: ReadablePaths | None,
    *,
    prefix: str,
    after: str,
    delimiter: str,
    amount: int,
) -> kernel.Listing:
    """Returns a page of the readable objects and common prefixes at a resolved reference, staged
    changes included; of all objects if `readable` is None.
    """
    page = {"prefix": prefix, "after": after, "delimiter": delimiter}
    if readable is None:
        return core.objects.listing_at(repository, resolved, **page, amount=amount)
    rows, has_more = _ReadableListing(core, repository, resolved, readable).page(
        **page, amount=amount
    )
    listing = core.objects.listing_at(repository, resolved, **page, amount=0)
    listing.replace(rows, has_more)
    return listing


class _ReadableListing(ReadablePager[_Row]):
    def __init__(
        self, core: Core, repository: Repository, resolved: Resolved, readable: ReadablePaths
    ) -> None:
        super().__init__(readable)
        self._core = core
        self._repository = repository
        self._resolved = resolved

    def fetch(
        self, prefix: str, after: str, delimiter: str, amount: int
    ) -> tuple[list[_Row], bool]:
        listing = self._core.objects.listing_at(
            self._repository,
            self._resolved,
            prefix=prefix,
            after=after,
            delimiter=delimiter,
            amount=amount,
        )
        return listing.rows(), listing.has_more

    def path(self, item: _Row) -> str:
        return decode_key(item[0])

    def is_prefix(self, item: _Row) -> bool:
        return item[1] is None

    def common_prefix(self, path: str) -> _Row:
        return encode_path(path), None
