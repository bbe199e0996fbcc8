"""Check of rows against the store: whether the object exists and has the row's size and ETag.

A local folder has no ETags, so only sizes are compared there. ETags are compared only if both have
the same form, that of S3 (32 hex digits, optionally with a number of parts) or not: the ETags in a
store's inventories are not always those in its responses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from anabranch.blocks.admitted_addresses import IMPOSSIBLE
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid, NotFound
from anabranch.http.etags import unquote_etag
from anabranch.pipelines.imports.listings.row_checks import Checked, Problem
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = ["StoredCheck", "require_stored", "sample_problems"]

NOT_STORED = "an object that is not stored"
OTHER_SIZE = "a size that is not the object's"
OTHER_ETAG = "an ETag that is not the object's"

_THREADS = 32
"""The number of concurrent requests to an object store."""

_FILE_THREADS = 4
_BATCH_ROWS = 64
"""The number of rows that a thread looks up at a time."""

_SHOWN = 10
_S3_ETAG = re.compile(r"[0-9a-f]{32}(?:-[0-9]+)?")


class _Row(NamedTuple):
    number: int
    address: str
    size: int
    checksum: str | None


class StoredCheck:
    """Compares every row of a batch with the store. Raises the errors of the store: Busy if it is
    unavailable, StoreRefused if it rejects the request.
    """

    def __init__(self, blocks: BlockStore) -> None:
        self._blocks = blocks
        is_local = blocks.config.blockstore_type == "local"
        self._sources = None if is_local else blocks.sources
        self._threads = _FILE_THREADS if is_local else _THREADS

    def __call__(self, batch: pa.RecordBatch) -> Checked:
        """Returns the batch, and the problems of the rows that differ from the store."""
        columns = [batch.column(name).to_pylist() for name in _COLUMNS]
        rows = [_Row(*row) for row in zip(range(batch.num_rows), *columns, strict=True)]
        batches = [rows[start : start + _BATCH_ROWS] for start in range(0, len(rows), _BATCH_ROWS)]
        problems: dict[int, Problem] = {}
        for result in parallel_map(self._problems, batches, threads=self._threads):
            problems.update(result)
        return Checked(batch, problems)

    def _problems(self, rows: Sequence[_Row]) -> dict[int, Problem]:
        results = ((row.number, self._problem(row)) for row in rows)
        return {number: problem for number, problem in results if problem is not None}

    def _problem(self, row: _Row) -> Problem | None:
        """Returns the problem of a row, None if it has none."""
        try:
            stored = self._stored_properties(row.address)
        except Invalid:
            return Problem(IMPOSSIBLE, IMPOSSIBLE)
        if stored is None:
            return Problem(NOT_STORED, "not stored")
        size, etag = stored
        if size != row.size:
            return Problem(OTHER_SIZE, f"is {size} bytes, the listing says {row.size}")
        listed = unquote_etag(row.checksum or "")
        if listed and etag and _differ(listed, unquote_etag(etag)):
            return Problem(OTHER_ETAG, f"has ETag {unquote_etag(etag)}, the listing says {listed}")
        return None

    def _stored_properties(self, address: str) -> tuple[int, str] | None:
        """Returns the size and ETag of the object at an address, with the ETag "" if the store has
        none; None if there is no object.
        """
        if self._sources is None:
            info = self._blocks.stat(address)
            return None if info is None else (info.size, "")
        try:
            source = self._sources.find(address)
        except NotFound:
            return None
        return source.size, source.checksum


def sample_problems(sample: pa.Table, blocks: BlockStore) -> list[tuple[str, str, str]]:
    """Returns the problems of the rows that differ from the store, as (path, address, detail).
    Raises the errors of StoredCheck.
    """
    check = StoredCheck(blocks)
    return [
        (
            batch.column("path")[number].as_py(),
            batch.column(_COLUMNS[0])[number].as_py(),
            problem.detail,
        )
        for batch in sample.to_batches()
        for number, problem in check(batch).problems.items()
    ]


def require_stored(sample: pa.Table, problems: Sequence[tuple[str, str, str]]) -> None:
    """Raises Invalid (kind unverified_rows) if rows of a sample have problems, given as (path,
    address, detail).
    """
    if not problems:
        return
    shown = "; ".join(
        f"{path[:200]!r} ({address[:200]}): {detail}"
        for path, address, detail in sorted(problems)[:_SHOWN]
    )
    raise Invalid(
        f"{len(problems)} of {len(sample)} rows that were looked up in the store differ from it. "
        f"The first: {shown}",
        kind="unverified_rows",
        hint="Correct the listing. To skip such rows, compare all rows with the store: "
        "--verify all --on-invalid skip (verify='all', on_invalid='skip').",
    )


_COLUMNS = ("physical_address", "size", "checksum")


def _differ(listed: str, stored: str) -> bool:
    """Returns whether two ETags have the same form and differ."""
    is_s3 = _S3_ETAG.fullmatch(stored.lower()) is not None
    if is_s3 != (_S3_ETAG.fullmatch(listed.lower()) is not None):
        return False
    return listed.lower() != stored.lower() if is_s3 else listed != stored
