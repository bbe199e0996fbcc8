"""The tables at a reference in the order of their paths: records of tables and views of the
catalog, and folders with tables of Delta Lake and Iceberg.

A folder with a log, `_delta_log/`, or with metadata files of Iceberg, `metadata/`, is a table; what
is below it belongs to the table and is not looked at. All other folders are, by three listings
each, so a walk can take long: it says where it is, and begins again anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.catalog.tables.iceberg.identifiers import identifier_at
from anabranch.model.names import decode_key, encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import RECORDS_ROOT, VIEW_FILE, is_record_path
from anabranch.tables.delta.log_files import LOG_FOLDER, file_version
from anabranch.tables.iceberg.metadata_files import METADATA_FOLDER, metadata_version
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["FoundTable", "Step", "TableFormat", "TableWalk"]

_PAGE = 1_000
_FEW_ROWS = 50
"""How much of a folder is looked at first: all of most, which tells that it is no table."""

_FEW_NAMES = 5
"""How many names are looked at of a log, and of metadata that begin with `v`: all but a few say
which version they belong to.
"""

TableFormat = Literal["iceberg", "delta"]
_Page = tuple[list[tuple[str, bool]], bool]
"""Paths, each with whether it is a folder, and whether more follow."""


class FoundTable(NamedTuple):
    """A table or a view: of the catalog, the path of its record and its name with the namespace;
    else its folder, with a slash at its end, and no namespace.
    """

    format: TableFormat
    path: str
    namespace: tuple[str, ...]
    name: str

    @property
    def in_catalog(self) -> bool:
        """Whether it has a record in the catalog."""
        return bool(self.namespace)

    @property
    def is_view(self) -> bool:
        """Whether it is a view, which only the catalog has."""
        return self.in_catalog and self.path.endswith(f"/{VIEW_FILE}")


class Step(NamedTuple):
    """Where a walk is: it has found all tables up to the highest path of a step, by the order of
    bytes, and one at the path of this step, if any.
    """

    path: str
    table: FoundTable | None = None


class TableWalk:
    """A walk over the `readable` objects at a resolved reference, over all if that is None."""

    def __init__(
        self,
        core: Core,
        repository: Repository,
        resolved: Resolved,
        readable: ReadablePaths | None,
    ) -> None:
        self._core = core
        self._repository = repository
        self._resolved = resolved
        self._readable = readable

    def steps(self, prefix: str, after: str) -> Iterator[Step]:
        """Yields steps, each after at most a few listings: the tables whose paths begin with a
        prefix, after the path of a step.
        """
        if prefix.startswith(RECORDS_ROOT):
            yield from self._records(prefix, after)
        elif prefix.endswith("/"):
            yield from self._folder(prefix, after)
        else:
            yield from self._inner(prefix, after)

    def folder_format(self, folder: str) -> TableFormat | None:
        """Returns the format of the table in a folder, which has a slash at its end; None without
        one. A Delta table that has metadata for readers of Iceberg is Delta's.
        """
        return self._format(folder, self._list(folder, "", "/", _FEW_ROWS))

    def _format(self, folder: str, first: _Page) -> TableFormat | None:
        """Returns the format of the table in a folder whose first paths are known."""
        rows, has_more = first
        known = {path for path, _ in rows}
        end = encode_path(rows[-1][0]) if rows else b""

        def may_have(inner: str) -> bool:
            return inner in known or (has_more and encode_path(inner) > end)

        log = folder + LOG_FOLDER
        names = self._names(log, "", _FEW_NAMES) if may_have(log) else []
        if any(file_version(name) is not None for name in names):
            return "delta"
        metadata = folder + METADATA_FOLDER
        if not (may_have(metadata) and self._names(metadata, "", 1)):
            return None
        # Hadoop tables: `v1.metadata.json`; catalogs: `00001-….metadata.json`, which are first but
        # for a few of the manifests, whose names begin with a UUID
        names = self._names(metadata, "v", _FEW_NAMES)
        if not any(metadata_version(name) is not None for name in names):
            names = self._names(metadata, "", _PAGE)
        return "iceberg" if any(metadata_version(name) is not None for name in names) else None

    def _names(self, folder: str, begin: str, amount: int) -> list[str]:
        """Returns the first paths in a folder, as below it, that begin with a text."""
        rows, _ = self._list(folder + begin, "", "", amount)
        return [path.removeprefix(folder) for path, _ in rows]

    def _folder(self, folder: str, after: str) -> Iterator[Step]:
        if folder == RECORDS_ROOT:
            yield from self._records(folder, after)
            return
        if after.startswith(folder) and after != folder:
            yield from self._inner(folder, after)
            return
        first = self._list(folder, "", "/", _FEW_ROWS)
        table_format = self._format(folder, first)
        if table_format is not None:
            if encode_path(folder) > encode_path(after):
                yield Step(folder, FoundTable(table_format, folder, (), folder.rstrip("/")))
            return
        yield Step(folder)
        yield from self._inner(folder, after, first)

    def _inner(self, prefix: str, after: str, first: _Page | None = None) -> Iterator[Step]:
        begin = ""
        if after.startswith(prefix):
            begin = prefix + after[len(prefix) :].partition("/")[0]
        elif encode_path(after) > encode_path(prefix):
            return
        page: _Page | None = first or self._list(prefix, begin, "/", _PAGE)
        while page is not None:
            rows, has_more = page
            for path, is_folder in rows:
                if is_folder:
                    yield from self._folder(path, after)
            if rows:
                begin = rows[-1][0]
                yield Step(begin)
            page = self._list(prefix, begin, "/", _PAGE) if has_more else None

    def _records(self, prefix: str, after: str) -> Iterator[Step]:
        begin, has_more = after if after.startswith(RECORDS_ROOT) else "", True
        while has_more:
            rows, has_more = self._list(prefix, begin, "", _PAGE)
            for path, _ in rows:
                identifier = identifier_at(path) if is_record_path(path) else None
                if identifier is not None:
                    yield Step(path, FoundTable("iceberg", path, *identifier))
            if rows:
                begin = rows[-1][0]
                yield Step(begin)

    def _list(self, prefix: str, after: str, delimiter: str, amount: int) -> _Page:
        """Returns a page of paths."""
        listing = list_objects(
            *(self._core, self._repository, self._resolved, self._readable),
            prefix=prefix,
            after=after,
            delimiter=delimiter,
            amount=amount,
        )
        rows = [(decode_key(key), value is None) for key, value in listing.rows()]
        return rows, listing.has_more
