"""The files of runs, in the storage namespace: `_lakefs/retention/gc/anabranch/RUN/…`.

    candidates.parquet  dead objects: address, size, mtime, since
    candidates/         the same in several files, whose names are in candidates.json: from Spark
    summary.json        the results of the run
    missing.parquet     references to missing objects, if there are any
    report.html         the summary as a page
    quarantine/         removed objects that can be restored; see `quarantine_files`
    restored/           objects that were restored

A run's id sorts before those of earlier runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt
from anabranch.errors.dependency_errors import reason_of
from anabranch.pipelines.garbage.addresses.candidates import CANDIDATES
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.addresses.table_files import table_files
from anabranch.pipelines.garbage.marking.missing import MISSING, MissingReference
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.pipelines.garbage.totals import ObjectTotals
from anabranch.versioning.garbage.stored_rules import RETENTION

__all__ = [
    "CANDIDATE_PARTS",
    "MARKS_FOLDER",
    "MISSING_FILE",
    "PARQUET_OPTIONS",
    "QUARANTINE",
    "RESTORED",
    "RUNS",
    "CandidatePart",
    "EarlierFile",
    "RunFiles",
    "file_pieces",
    "last_listed",
    "read_candidates",
    "read_summaries",
]


_Kind = TypeVar("_Kind")

RUNS = f"{RETENTION}/anabranch/"
"""The folder of the files of all runs, in a storage namespace."""

_CANDIDATES = "candidates.parquet"
_PARTS = "candidates.json"
CANDIDATE_PARTS = "candidates/"
"""The folder of the files of candidates, in the folder of a run by Spark; only those that the run
has recorded are valid.
"""

_SUMMARY, _PAGE = "summary.json", "report.html"
MISSING_FILE = "missing.parquet"
"""The file of references to missing objects, in the folder of a run."""

PARQUET_OPTIONS = {"compression": "zstd", "use_dictionary": ["size", "mtime", "since"]}
"""Addresses are unique, so a dictionary for them would only cost time."""

QUARANTINE, RESTORED = "quarantine/", "restored/"
"""The folders of quarantined and of restored objects, in the folder of a run; see
`quarantine_files`.
"""

MARKS_FOLDER = f"{RETENTION}/anabranch-marks/"
"""The folder of the address indexes of ranges, in a storage namespace, for engines whose workers
have no folder of their own between runs.
"""

_MAX_RUNS = 10
_PIECE_BYTES = 1 << 20


class CandidatePart(msgspec.Struct, frozen=True):
    """A file of candidates, with its name in the folder of these files, and its rows."""

    file: str
    rows: int


class EarlierFile(NamedTuple):
    """A file of candidates of an earlier run, by its address: either those that are files of tables
    or the others count.
    """

    address: str
    of_tables: bool

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the rows of a batch that count."""
        return table_files(batch, kept=self.of_tables)


_PARTS_DECODER = msgspec.json.Decoder(list[CandidatePart])


class RunFiles:
    """The files of one run and its predecessors. `folder` is a local folder for copies of them."""

    def __init__(self, blocks: BlockStore, namespace: Namespace, run_id: str, folder: Path) -> None:
        self._blocks = blocks
        self.run_id = run_id
        self._runs = namespace.prefix + RUNS
        self._run = f"{self._runs}{run_id}/"
        self._folder = folder
        self._has_parts = False

    @property
    def prefix(self) -> str:
        """The prefix of the addresses of the run's files."""
        return self._run

    @property
    def candidates_location(self) -> str:
        """The full address of the candidates' file, or of the folder of their files."""
        name = CANDIDATE_PARTS if self._has_parts else _CANDIDATES
        return self._blocks.qualify(self._run + name)

    @property
    def page_location(self) -> str:
        """The full address of the report's page."""
        return self._blocks.qualify(self._run + _PAGE)

    def write_page(self, page: bytes) -> None:
        """Writes the report's page, replacing an earlier one of the run."""
        self._blocks.put(self._run + _PAGE, [page])

    def write_summary(self, summary: Summary) -> None:
        """Writes the summary, replacing an earlier one of the run."""
        text = msgspec.json.format(msgspec.json.encode(summary), indent=2)
        self._blocks.put(self._run + _SUMMARY, [text, b"\n"])

    def store_time(self) -> int | None:
        """Returns the time by the store's clock when the summary was written, in seconds since
        1970; None if the summary is missing.
        """
        info = self._blocks.stat(self._run + _SUMMARY)
        return None if info is None else info.mtime

    def write_candidates(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Writes the candidates to a local file and then to the store."""
        path = self._folder / _CANDIDATES
        with pq.ParquetWriter(path, CANDIDATES, **PARQUET_OPTIONS) as writer:
            for batch in batches:
                writer.write_batch(batch)
        self._blocks.put(self._run + _CANDIDATES, file_pieces(path))

    def write_missing(self, references: Sequence[MissingReference]) -> str:
        """Writes the references to missing objects; returns the file's full address."""
        rows = [msgspec.to_builtins(reference) for reference in references]
        path = self._folder / MISSING_FILE
        pq.write_table(pa.Table.from_pylist(rows, schema=MISSING), path, compression="zstd")
        self._blocks.put(self._run + MISSING_FILE, file_pieces(path))
        return self._blocks.qualify(self._run + MISSING_FILE)

    def write_parts(self, parts: Sequence[CandidatePart]) -> None:
        """Records the files that hold the candidates, which others have written to the store."""
        self._has_parts = True
        self._blocks.put(self._run + _PARTS, [msgspec.json.encode(parts)])

    def candidates(self) -> Iterator[pa.RecordBatch]:
        """Yields the candidates of this run, sorted by address if the listing was."""
        if not self._has_parts:
            yield from pq.ParquetFile(self._folder / _CANDIDATES).iter_batches()
            return
        for address in self.candidate_files():
            yield from self._read(address)

    def candidate_files(self) -> list[str]:
        """Returns the addresses of the files of this run's candidates, which are in the store."""
        return self._part_addresses(self._run)

    def earlier_files(self) -> list[EarlierFile]:
        """Returns the files with the candidates of the newest earlier run that wrote candidates,
        and with files of tables of the newest one that collected these: a run of a listing that was
        given does not know them. Raises Corrupt.
        """
        runs: dict[str, set[str]] = {}
        for block in self._blocks.list(self._runs):
            run, _, name = block.address.removeprefix(self._runs).partition("/")
            if run > self.run_id and name in {_PARTS, _CANDIDATES}:
                runs.setdefault(run, set()).add(name)
        found = []
        for run in sorted(runs)[:1]:
            found += [EarlierFile(each, of_tables=False) for each in self._files_of(run, runs[run])]
        namespace = self._runs.removesuffix(RUNS)
        for summary in read_summaries(self._blocks, namespace, _EARLIER_DECODER):
            run = summary.run_id
            if run > self.run_id and summary.tables.collected:
                names = runs.get(run, {_CANDIDATES})
                found += [EarlierFile(each, of_tables=True) for each in self._files_of(run, names)]
                break
        return found

    def read_earlier(self, file: EarlierFile) -> Iterator[pa.RecordBatch]:
        """Yields the candidates in a file that count. Raises Corrupt."""
        return map(file.rows, self._read(file.address))

    def _files_of(self, run: str, names: Collection[str]) -> list[str]:
        """Returns the addresses of the files of candidates of a run that has files of these
        names.
        """
        prefix = f"{self._runs}{run}/"
        return self._part_addresses(prefix) if _PARTS in names else [prefix + _CANDIDATES]

    def _part_addresses(self, run: str) -> list[str]:
        try:
            parts = _PARTS_DECODER.decode(self._blocks.read(run + _PARTS))
        except msgspec.DecodeError as error:
            raise _unreadable(run + _PARTS, error) from error
        return [f"{run}{CANDIDATE_PARTS}{part.file}" for part in parts]

    def _read(self, address: str) -> Iterator[pa.RecordBatch]:
        path = self._folder / f"stored-{_CANDIDATES}"
        with path.open("wb") as file:
            file.writelines(self._blocks.get(address))
        yield from read_candidates(path, address)

    def remove_old_runs(self) -> None:
        """Removes the files of all runs but the newest and those with quarantined objects."""
        runs: dict[str, list[str]] = {}
        for block in self._blocks.list(self._runs):
            run = block.address.removeprefix(self._runs).partition("/")[0]
            runs.setdefault(run, []).append(block.address)
        for run in sorted(runs)[_MAX_RUNS:]:
            if not any(f"/{run}/{QUARANTINE}" in address for address in runs[run]):
                self._blocks.delete(runs[run])


def read_summaries(
    blocks: BlockStore, prefix: str, decoder: msgspec.json.Decoder[_Kind]
) -> Iterator[_Kind]:
    """Yields the summaries of the runs below a prefix of addresses, the newest first, as `decoder`
    makes them. Those that an older version wrote, or that are damaged, are left out.
    """
    runs = prefix + RUNS
    for block in blocks.list(runs):
        if block.address.count("/") == runs.count("/") + 1 and block.address.endswith(_SUMMARY):
            try:
                summary = decoder.decode(blocks.read(block.address))
            except msgspec.MsgspecError:
                continue
            yield summary


class _Tables(msgspec.Struct):
    """Whether a run collected files of tables, in its summary."""

    collected: bool = False


class _EarlierRun(msgspec.Struct):
    """What is read of the summary of an earlier run."""

    run_id: str = ""
    listed: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    tables: _Tables = msgspec.field(default_factory=_Tables)


_EARLIER_DECODER = msgspec.json.Decoder(_EarlierRun)


def last_listed(blocks: BlockStore, namespace: Namespace) -> int | None:
    """Returns the number of objects that the newest complete run listed, or None without one."""
    for summary in read_summaries(blocks, namespace.prefix, _EARLIER_DECODER):
        if summary.listed.objects:
            return summary.listed.objects
    return None


def read_candidates(path: Path, address: str) -> Iterator[pa.RecordBatch]:
    """Yields the candidates in a file that was copied from an address. Raises Corrupt."""
    try:
        yield from pq.ParquetFile(path).iter_batches(columns=CANDIDATES.names)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(address, error) from error


def _unreadable(address: str, error: Exception) -> Corrupt:
    return Corrupt(
        f"{address}: cannot be read: {reason_of(error)}",
        path=address,
        hint="Remove the file; the restore window then starts again.",
    )


def file_pieces(path: Path) -> Iterator[bytes]:
    """Yields the bytes of a file in pieces."""
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece
