"""The files of runs, in the storage namespace: `_lakefs/retention/gc/anabranch/RUN/…`.

    candidates.parquet  what the run has found dead: address, size, mtime, since
    summary.json        what it has found and done
    missing.parquet     references to objects that are missing, if there are any
    report.html         the summary for people
    quarantine/         what was removed and can be restored; see `quarantine_files`
    restored/           what was restored since

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

_HOW = {"compression": "zstd", "use_dictionary": ["size", "mtime", "since"]}
"""No two addresses are the same: to look for such takes time."""

QUARANTINE, RESTORED = "quarantine/", "restored/"
"""The folders in a run's about what it has removed and what of it was restored; see
`quarantine_files`.
"""

_KEPT_RUNS = 10
_PIECE_BYTES = 1 << 20


class RunFiles:
    """The files of one run and its predecessors, of which copies are made in a local folder."""

    def __init__(self, blocks: BlockStore, namespace: Namespace, run_id: str, folder: Path) -> None:
        self._blocks = blocks
        self._runs = namespace.stem + RUNS
        self._run = f"{self._runs}{run_id}/"
        self._folder = folder

    @property
    def stem(self) -> str:
        """What the addresses of the run's files begin with."""
        return self._run

    @property
    def candidates_location(self) -> str:
        """The full address of the candidates, as people are shown it."""
        return self._blocks.qualify(self._run + _CANDIDATES)

    @property
    def page_location(self) -> str:
        """The full address of the page."""
        return self._blocks.qualify(self._run + _PAGE)

    def write_page(self, page: bytes) -> None:
        """Writes the page for people, in place of an earlier one of the run."""
        self._blocks.put(self._run + _PAGE, [page])

    def write_summary(self, summary: Summary) -> None:
        """Writes the summary, in place of an earlier one of the run."""
        text = msgspec.json.format(msgspec.json.encode(summary), indent=2)
        self._blocks.put(self._run + _SUMMARY, [text, b"\n"])

    def store_time(self) -> int | None:
        """Returns when the summary was written by the store's clock, in seconds since 1970."""
        found = self._blocks.stat(self._run + _SUMMARY)
        return None if found is None else found.mtime

    def write_candidates(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Writes the candidates: to a local file, then as a whole to the store."""
        path = self._folder / _CANDIDATES
        with pq.ParquetWriter(path, CANDIDATES, **_HOW) as writer:
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
        """Yields the candidates of the newest earlier run that has some. Raises Corrupt."""
        for found in self._blocks.list(self._runs):
            run, _, name = found.address.removeprefix(self._runs).partition("/")
            if name != _CANDIDATES or self._runs + run + "/" <= self._run:
                continue
            path = self._folder / f"earlier-{_CANDIDATES}"
            with path.open("wb") as file:
                file.writelines(self._blocks.get(found.address))
            try:
                yield from pq.ParquetFile(path).iter_batches(columns=CANDIDATES.names)
            except (pa.ArrowException, OSError) as error:
                raise Corrupt(
                    f"{found.address}: cannot be read: {error}",
                    path=found.address,
                    hint="Remove the file; the restore window then begins anew.",
                ) from error
            return

    def forget_old_runs(self) -> None:
        """Removes the files of all but the newest runs and those with something in quarantine."""
        runs: dict[str, list[str]] = {}
        for found in self._blocks.list(self._runs):
            run = found.address.removeprefix(self._runs).partition("/")[0]
            runs.setdefault(run, []).append(found.address)
        for run in sorted(runs)[_KEPT_RUNS:]:
            if not any(f"/{run}/{QUARANTINE}" in address for address in runs[run]):
                self._blocks.delete(runs[run])


def file_pieces(path: Path) -> Iterator[bytes]:
    """Yields the bytes of a file, some at a time."""
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece
