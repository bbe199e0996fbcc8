"""The files of runs, in the storage namespace: `_lakefs/retention/gc/anabranch/RUN/…`.

    candidates.parquet  dead objects: address, size, mtime, since
    summary.json        the results of the run
    missing.parquet     references to missing objects, if there are any
    report.html         the summary as a page
    quarantine/         removed objects that can be restored; see `quarantine_files`
    restored/           objects that were restored

A run's id sorts before those of earlier runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt
from anabranch.pipelines.garbage.addresses.candidates import CANDIDATES
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.marking.missing import MISSING, MissingReference
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.versioning.garbage.stored_rules import RETENTION

__all__ = ["MISSING_FILE", "QUARANTINE", "RESTORED", "RUNS", "RunFiles", "file_pieces"]

RUNS = f"{RETENTION}/anabranch/"
"""The folder of the files of all runs, in a storage namespace."""

_CANDIDATES = "candidates.parquet"
_SUMMARY, _PAGE = "summary.json", "report.html"
MISSING_FILE = "missing.parquet"
"""The file of references to missing objects, in the folder of a run."""

_PARQUET_OPTIONS = {"compression": "zstd", "use_dictionary": ["size", "mtime", "since"]}
"""Addresses are unique, so a dictionary for them would only cost time."""

QUARANTINE, RESTORED = "quarantine/", "restored/"
"""The folders of quarantined and of restored objects, in the folder of a run; see
`quarantine_files`.
"""

_MAX_RUNS = 10
_PIECE_BYTES = 1 << 20


class RunFiles:
    """The files of one run and its predecessors. `folder` is a local folder for copies of them."""

    def __init__(self, blocks: BlockStore, namespace: Namespace, run_id: str, folder: Path) -> None:
        self._blocks = blocks
        self._runs = namespace.prefix + RUNS
        self._run = f"{self._runs}{run_id}/"
        self._folder = folder

    @property
    def prefix(self) -> str:
        """The prefix of the addresses of the run's files."""
        return self._run

    @property
    def candidates_location(self) -> str:
        """The full address of the candidates' file."""
        return self._blocks.qualify(self._run + _CANDIDATES)

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
        with pq.ParquetWriter(path, CANDIDATES, **_PARQUET_OPTIONS) as writer:
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

    def candidates(self) -> Iterator[pa.RecordBatch]:
        """Yields the candidates of this run."""
        return iter(pq.ParquetFile(self._folder / _CANDIDATES).iter_batches())

    def earlier_candidates(self) -> Iterator[pa.RecordBatch]:
        """Yields the candidates of the newest earlier run that wrote candidates. Raises Corrupt."""
        for block in self._blocks.list(self._runs):
            run, _, name = block.address.removeprefix(self._runs).partition("/")
            if name != _CANDIDATES or self._runs + run + "/" <= self._run:
                continue
            path = self._folder / f"earlier-{_CANDIDATES}"
            with path.open("wb") as file:
                file.writelines(self._blocks.get(block.address))
            try:
                yield from pq.ParquetFile(path).iter_batches(columns=CANDIDATES.names)
            except (pa.ArrowException, OSError) as error:
                raise Corrupt(
                    f"{block.address}: cannot be read: {error}",
                    path=block.address,
                    hint="Remove the file; the restore window then starts again.",
                ) from error
            return

    def remove_old_runs(self) -> None:
        """Removes the files of all runs but the newest and those with quarantined objects."""
        runs: dict[str, list[str]] = {}
        for block in self._blocks.list(self._runs):
            run = block.address.removeprefix(self._runs).partition("/")[0]
            runs.setdefault(run, []).append(block.address)
        for run in sorted(runs)[_MAX_RUNS:]:
            if not any(f"/{run}/{QUARANTINE}" in address for address in runs[run]):
                self._blocks.delete(runs[run])


def file_pieces(path: Path) -> Iterator[bytes]:
    """Yields the bytes of a file in pieces."""
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece
