"""The tables at a reference in the order of their paths: records of the catalog, and Delta folders.

A folder with a log, `_delta_log/`, is a table; what is below it belongs to the table and is not
looked at. All other folders are, one listing for each and one for what is in it, so a walk can take
long: it says where it is, and begins again anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.catalog.tables.iceberg.identifiers import identifier_at
from anabranch.model.names import decode_key, encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import RECORDS_ROOT, is_table_record
from anabranch.tables.delta.log_files import LOG_FOLDER, file_version
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["FoundTable", "Step", "TableWalk"]

_PAGE = 1_000
_LOG_NAMES = 5
"""How many names of a log are looked at: all but a few say which version they belong to."""


class FoundTable(NamedTuple):
    """A table: of Iceberg, the path of its record and its name with the namespace; of Delta, its
    folder, with a slash at its end, and no namespace.
    """

    format: Literal["iceberg", "delta"]
    path: str
    namespace: tuple[str, ...]
    name: str


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

    def has_log(self, folder: str) -> bool:
        """Returns whether a folder, with a slash at its end, has the log of a Delta table."""
        log = folder + LOG_FOLDER
        rows, _ = self._list(log, "", "", _LOG_NAMES)
        return any(file_version(path.removeprefix(log)) is not None for path, _ in rows)

    def _folder(self, folder: str, after: str) -> Iterator[Step]:
        if folder == RECORDS_ROOT:
            yield from self._records(folder, after)
            return
        was_entered = after.startswith(folder) and after != folder
        if not was_entered and self.has_log(folder):
            if encode_path(folder) > encode_path(after):
                yield Step(folder, FoundTable("delta", folder, (), folder.rstrip("/")))
            return
        yield Step(folder)
        yield from self._inner(folder, after)

    def _inner(self, prefix: str, after: str) -> Iterator[Step]:
        begin = ""
        if after.startswith(prefix):
            begin = prefix + after[len(prefix) :].partition("/")[0]
        elif encode_path(after) > encode_path(prefix):
            return
        has_more = True
        while has_more:
            rows, has_more = self._list(prefix, begin, "/", _PAGE)
            for path, is_folder in rows:
                if is_folder:
                    yield from self._folder(path, after)
            if rows:
                begin = rows[-1][0]
                yield Step(begin)

    def _records(self, prefix: str, after: str) -> Iterator[Step]:
        begin, has_more = after if after.startswith(RECORDS_ROOT) else "", True
        while has_more:
            rows, has_more = self._list(prefix, begin, "", _PAGE)
            for path, _ in rows:
                identifier = identifier_at(path) if is_table_record(path) else None
                if identifier is not None:
                    yield Step(path, FoundTable("iceberg", path, *identifier))
            if rows:
                begin = rows[-1][0]
                yield Step(begin)

    def _list(
        self, prefix: str, after: str, delimiter: str, amount: int
    ) -> tuple[list[tuple[str, bool]], bool]:
        """Returns a page of paths, each with whether it is a folder, and whether more follow."""
        listing = list_objects(
            *(self._core, self._repository, self._resolved, self._readable),
            prefix=prefix,
            after=after,
            delimiter=delimiter,
            amount=amount,
        )
        rows = [(decode_key(key), value is None) for key, value in listing.rows()]
        return rows, listing.has_more
