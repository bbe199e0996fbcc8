"""The objects that a query may read: those that its user may read, in any repository."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.catalog.catalog import Catalog
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.catalog.tables.iceberg.table_folders import TableFolder, record_in_path
from anabranch.errors import Denied, Invalid, NotFound
from anabranch.model.objects.stat import CommonPrefix
from anabranch.model.uri import LakeUri, parse_uri
from anabranch.patterns.object_patterns import ObjectPattern
from anabranch.pipelines.queries.query_rights import QueryRights
from anabranch.pipelines.queries.reference_views import ReferenceViews

__all__ = ["ReadableObjects"]

_DENIED = "insufficient_permissions"
_PAGE = 1000
_MAX_LISTED = 200_000
_MAX_MATCHES = 10_000


class ReadableObjects:
    """Opens and finds objects by their addresses, as one user. Every object is authorized when it
    is opened; those that the user may not read are not found by patterns. Tables of the Iceberg
    catalog are folders, by the paths of their records (see `TableFolders`).
    """

    def __init__(self, catalog: Catalog, rights: QueryRights, views: ReferenceViews) -> None:
        self._catalog = catalog
        self._rights = rights
        self._opened: dict[str, OpenObject] = {}
        self._views = views

    def open(self, address: str) -> OpenObject:
        """Returns the object at an address, the same one each time. Raises Denied, NotFound and
        Invalid.
        """
        opened = self._opened.get(address)
        if opened is None:
            uri = _parse(address)
            table = self._table(uri)
            if table is not None:
                return self._opened.setdefault(
                    address, self._catalog.iceberg.folders.open(table, uri.key)
                )
            self._rights.require_object(uri.repository, uri.ref, uri.key)
            at = self._views.resolve(uri.repository, uri.ref)
            opened = self._catalog.objects.open(uri.repository, uri.ref, uri.key, at=at)
            self._opened[address] = opened
        return opened

    def find(self, address: str) -> list[str]:
        """Returns the addresses of objects that match a pattern, in the order of their paths. An
        address that is an object's own is no pattern. Raises Denied, NotFound and Invalid.
        """
        uri = _parse(address)
        pattern = ObjectPattern(uri.key)
        try:
            self.open(address)
        except (NotFound, Denied) as error:
            if error.kind != "object_not_found" and (pattern.is_literal or error.kind != _DENIED):
                raise
        else:
            return [address]
        if pattern.is_literal:
            return []
        self._rights.require_listing(uri.repository, uri.ref)
        found = []
        for path in self._list(uri, pattern.prefix):
            if pattern.matches(path):
                found.append(str(LakeUri(uri.repository, uri.ref, path)))
            if len(found) > _MAX_MATCHES:
                raise Invalid(
                    f"{address} matches more than {_MAX_MATCHES:,} objects",
                    kind="query_too_large",
                    hint="Use a pattern that matches fewer objects.",
                )
        return found

    def list(self, address: str) -> list[str]:
        """Returns the addresses of the objects whose addresses begin with one, in the order of
        their paths: of those that the user may read. Raises Denied, NotFound and Invalid.
        """
        uri = _parse(address)
        record = record_in_path(uri.key)
        if record:
            self._rights.require_table_listing(uri.repository, uri.ref, record)
        else:
            self._rights.require_listing(uri.repository, uri.ref)
        table = self._table(uri)
        paths = self._list(uri, uri.key) if table is None else table.paths(uri.key)
        return [str(LakeUri(uri.repository, uri.ref, path)) for path in paths]

    def _table(self, uri: LakeUri) -> TableFolder | None:
        """Returns the table of the catalog in whose folder an object is. Raises Denied."""
        record = record_in_path(uri.key)
        if not record:
            return None
        self._rights.require_table(uri.repository, uri.ref, record)
        repository = self._catalog.repositories.get(uri.repository)
        at = self._views.resolve(uri.repository, uri.ref)
        table = self._catalog.iceberg.folders.find(repository, at, uri.key)
        if table is not None:
            self._rights.require_table(uri.repository, uri.ref, table.area.path)
        return table

    def _list(self, uri: LakeUri, prefix: str) -> Iterator[str]:
        readable = self._rights.readable_paths(uri.repository, uri.ref, prefix)
        after = ""
        for _ in range(_MAX_LISTED // _PAGE):
            page = self._catalog.objects.listing(
                uri.repository,
                uri.ref,
                at=self._views.resolve(uri.repository, uri.ref),
                prefix=prefix,
                after=after,
                amount=_PAGE,
                readable=readable,
            )
            for item in page.items:
                if not isinstance(item, CommonPrefix):
                    yield item.path
            if not page.has_more:
                return
            after = page.next_offset
        raise Invalid(
            f"{uri} begins with the paths of more than {_MAX_LISTED:,} objects",
            kind="query_too_large",
            hint="Write a longer prefix before the first wildcard.",
        )


def _parse(address: str) -> LakeUri:
    uri = parse_uri(address)
    if not uri.key:
        raise Invalid(
            f"{address} is no object",
            kind="invalid_uri",
            hint="Write lakefs://repository/ref/path, or a pattern such as "
            "lakefs://repository/ref/folder/*.parquet.",
        )
    return uri
