"""Listings of the objects that a user may read."""

from __future__ import annotations

from anabranch import _kernel as kernel
from anabranch.access.readable_paths import ReadablePaths
from anabranch.catalog.readable_pages import ReadablePager
from anabranch.model.names import decode_key, encode_path
from anabranch.model.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import Value
from anabranch.versioning.references import Resolved

__all__ = ["ReadableListing"]

_Row = tuple[bytes, Value | None]


class ReadableListing(ReadablePager[_Row]):
    """Lists the readable objects at a resolved reference."""

    def __init__(
        self, core: Core, repository: Repository, resolved: Resolved, readable: ReadablePaths
    ) -> None:
        super().__init__(readable)
        self._core = core
        self._repository = repository
        self._resolved = resolved

    def listing(self, *, prefix: str, after: str, delimiter: str, amount: int) -> kernel.Listing:
        """Returns a page of readable objects and common prefixes, staged changes included."""
        rows, has_more = self.page(prefix=prefix, after=after, delimiter=delimiter, amount=amount)
        listing = self._listing(prefix, after, delimiter, 0)
        listing.replace(rows, has_more)
        return listing

    def fetch(
        self, prefix: str, after: str, delimiter: str, amount: int
    ) -> tuple[list[_Row], bool]:
        """Returns a page of all objects and common prefixes."""
        listing = self._listing(prefix, after, delimiter, amount)
        return listing.rows(), listing.has_more

    def path(self, item: _Row) -> str:
        """Returns the path of a row."""
        return decode_key(item[0])

    def is_prefix(self, item: _Row) -> bool:
        """Returns whether a row is a common prefix."""
        return item[1] is None

    def common_prefix(self, path: str) -> _Row:
        """Returns the row of a common prefix."""
        return encode_path(path), None

    def _listing(self, prefix: str, after: str, delimiter: str, amount: int) -> kernel.Listing:
        return self._core.objects.listing_at(
            self._repository,
            self._resolved,
            prefix=prefix,
            after=after,
            delimiter=delimiter,
            amount=amount,
        )
