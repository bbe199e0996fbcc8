"""The check of rows against the store: whether the object of a row exists with its size and ETag.

Size and ETag are compared. A local folder keeps no ETags, so only sizes are compared there. ETags
are compared where both are of one form, the one that S3 uses (32 hex digits, and perhaps a number
of parts) or another: what a store calls an ETag in its inventories is not always what it answers.
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
"""Requests to an object store at once."""

_FILE_THREADS = 4
_ROWS = 64
"""How many rows a thread looks up in turn."""

_SHOWN = 10
_S3_ETAG = re.compile(r"[0-9a-f]{32}(?:-[0-9]+)?")


class _Row(NamedTuple):
    number: int
    address: str
    size: int
    checksum: str | None


class StoredCheck:
    """Compares every row of a batch with the store. Raises what the store raises: Busy where it
    cannot answer, StoreRefused where it will not.
    """

    def __init__(self, blocks: BlockStore) -> None:
        self._blocks = blocks
        is_local = blocks.config.blockstore_type == "local"
        self._sources = None if is_local else blocks.sources
        self._threads = _FILE_THREADS if is_local else _THREADS

    def __call__(self, batch: pa.RecordBatch) -> Checked:
        """Returns the batch, and the problems of rows that do not name a stored object as it is."""
        columns = [batch.column(name).to_pylist() for name in _COLUMNS]
        rows = [_Row(*row) for row in zip(range(batch.num_rows), *columns, strict=True)]
        shares = [rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
        problems: dict[int, Problem] = {}
        for found in parallel_map(self._problems, shares, threads=self._threads):
            problems.update(found)
        return Checked(batch, problems)

    def _problems(self, rows: Sequence[_Row]) -> dict[int, Problem]:
        found = ((row.number, self._problem(row)) for row in rows)
        return {number: problem for number, problem in found if problem is not None}

    def _problem(self, row: _Row) -> Problem | None:
        """Returns what is wrong with a row, None if nothing is."""
        try:
            stored = self._stored(row.address)
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

    def _stored(self, address: str) -> tuple[int, str] | None:
        """Returns the size of what is stored at an address, and its ETag, "" where the store has
        none; None where nothing is.
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
    """Returns which rows of a sample do not name an object as it is stored, as (path, address, what
    is wrong). Raises as StoredCheck does.
    """
    check = StoredCheck(blocks)
    return [
        (
            batch.column("path")[number].as_py(),
            batch.column(_COLUMNS[0])[number].as_py(),
            each.detail,
        )
        for batch in sample.to_batches()
        for number, each in check(batch).problems.items()
    ]


def require_stored(sample: pa.Table, problems: Sequence[tuple[str, str, str]]) -> None:
    """Raises Invalid (kind unverified_rows) if rows of a sample have problems, given as (path,
    address, what is wrong).
    """
    if not problems:
        return
    shown = "; ".join(
        f"{path[:200]!r} ({address[:200]}): {detail}"
        for path, address, detail in sorted(problems)[:_SHOWN]
    )
    raise Invalid(
        f"{len(problems)} of {len(sample)} rows that were looked up in the store do not name an "
        f"object as it is stored. The first: {shown}",
        kind="unverified_rows",
        hint="Correct the listing. To leave such rows out, look up all of them: --verify all "
        "--unfit skip (verify='all', unfit='skip').",
    )


_COLUMNS = ("physical_address", "size", "checksum")


def _differ(listed: str, stored: str) -> bool:
    """Returns whether two ETags of one form are of different objects."""
    is_s3 = _S3_ETAG.fullmatch(stored.lower()) is not None
    if is_s3 != (_S3_ETAG.fullmatch(listed.lower()) is not None):
        return False
    return listed.lower() != stored.lower() if is_s3 else listed != stored
