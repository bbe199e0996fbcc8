"""Records of quarantined objects, among the files of the run that removed them.

    RUN/quarantine/PART.parquet   objects, before their removal: address, size, version, times
    RUN/restored/ID.parquet       restored objects: part and address

PART is `REMOVED-UNTIL-ID`, both times in seconds since 1970. A part is removed after all of its
objects have been purged. If a process is killed before it removes the objects of a part, they are
still at their addresses, and neither a restoration nor a purge changes them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AlreadyExists, Corrupt, Gone
from anabranch.errors.dependency_errors import reason_of
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.run_files import QUARANTINE, RESTORED, RUNS
from anabranch.pipelines.garbage.totals import ObjectTotals
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = ["Part", "QuarantineFiles", "QuarantinedObject", "QuarantinedRun"]

_QUARANTINED = pa.schema(
    [
        pa.field("address", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("version", pa.string(), nullable=False),
        pa.field("removed_at", pa.int64(), nullable=False),
        pa.field("until", pa.int64(), nullable=False),
    ]
)
_RESTORED = pa.schema([pa.field("part", pa.string()), pa.field("address", pa.string())])
_PART = re.compile(rf"(?P<run>[0-9a-v]{{20}})/{QUARANTINE}(?P<name>(\d+)-(\d+)-[0-9a-f]+)\.parquet")


class QuarantinedObject(NamedTuple):
    """An object in quarantine; `address` is relative to the namespace, `version` the store's
    version id.
    """

    address: str
    size: int
    version: str


class Part(NamedTuple):
    """Objects that a run removed in one batch. They can be restored `until` a time; times are in
    seconds since 1970.
    """

    run: str
    name: str
    removed_at: int
    until: int

    @classmethod
    def of(cls, run: str, removed_at: int, until: int, id_: str) -> Part:
        """Returns the part with an id of hexadecimal digits."""
        return cls(run, f"{removed_at:010d}-{until:010d}-{id_}", removed_at, until)

    @property
    def batch(self) -> str:
        """The part's name, qualified by the run."""
        return f"{self.run}/{self.name}"


class QuarantinedRun(msgspec.Struct):
    """Totals of a run's objects that are in quarantine and that were restored. Times are in seconds
    since 1970; `until` is that of the part that expires last.
    """

    run_id: str
    removed_at: int
    until: int
    quarantined: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    restored: ObjectTotals = msgspec.field(default_factory=ObjectTotals)


class QuarantineFiles:
    """The parts of all runs in a namespace. Methods raise Corrupt for an unreadable file."""

    def __init__(self, blocks: BlockStore, namespace: Namespace) -> None:
        self._blocks = blocks
        self._runs = namespace.prefix + RUNS

    def write(
        self, run: str, removed_at: int, until: int, objects: Sequence[QuarantinedObject]
    ) -> Part:
        """Writes a new part, durably, and returns it."""
        part = Part.of(run, removed_at, until, secrets.token_hex(8))
        self._put(self.address(part), _rows(part, objects), _QUARANTINED)
        return part

    def write_once(
        self, part: Part, objects: Sequence[QuarantinedObject]
    ) -> Sequence[QuarantinedObject]:
        """Writes a part, durably, unless another process has written it. Returns its objects."""
        try:
            self._put(self.address(part), _rows(part, objects), _QUARANTINED, if_absent=True)
        except AlreadyExists:
            return self.read(part)
        return objects

    def parts(self, run: str | None = None) -> list[Part]:
        """Returns the parts of one run or of all runs, oldest first."""
        prefix = self._runs if run is None else f"{self._runs}{run}/"
        parts = []
        for block in self._blocks.list(prefix):
            match = _PART.fullmatch(block.address.removeprefix(self._runs))
            if match is not None:
                parts.append(Part(match["run"], match["name"], int(match[3]), int(match[4])))
        return sorted(parts, key=lambda part: (part.removed_at, part))

    def read(self, part: Part) -> list[QuarantinedObject]:
        """Returns the objects of a part; an empty list if the part was removed meanwhile."""
        table = self._read(self.address(part), _QUARANTINED)
        columns = (table.column(name).to_pylist() for name in QuarantinedObject._fields)
        return [QuarantinedObject(*row) for row in zip(*columns, strict=True)]

    def read_all(self, parts: Iterable[Part]) -> Iterator[tuple[Part, list[QuarantinedObject]]]:
        """Yields each part with its objects."""
        return parallel_map(lambda part: (part, self.read(part)), parts)

    def remove(self, part: Part) -> None:
        """Removes a part, and after the last part of a run also its records of restored objects."""
        self._blocks.delete([self.address(part)])
        if not self.parts(part.run):
            records = self._blocks.list(f"{self._runs}{part.run}/{RESTORED}")
            self._blocks.delete([block.address for block in records])

    def record_restored(self, part: Part, addresses: Sequence[str]) -> None:
        """Records that objects of a part were restored."""
        rows = [{"part": part.name, "address": address} for address in addresses]
        name = f"{self._runs}{part.run}/{RESTORED}{secrets.token_hex(8)}.parquet"
        self._put(name, rows, _RESTORED)

    def restored(self, run: str) -> set[tuple[str, str]]:
        """Returns the restored objects of a run, each as the name of its part and its address."""
        restored: set[tuple[str, str]] = set()
        for block in list(self._blocks.list(f"{self._runs}{run}/{RESTORED}")):
            table = self._read(block.address, _RESTORED)
            columns = (table.column(name).to_pylist() for name in _RESTORED.names)
            restored.update(zip(*columns, strict=True))
        return restored

    def runs(self) -> list[QuarantinedRun]:
        """Returns the runs with parts in quarantine, newest first."""
        runs: dict[str, QuarantinedRun] = {}
        for part, objects, restored in self._with_restored():
            if part.run not in runs:
                runs[part.run] = QuarantinedRun(part.run, part.removed_at, part.until)
            run = runs[part.run]
            run.until = max(run.until, part.until)
            for item in objects:
                is_restored = (part.name, item.address) in restored
                (run.restored if is_restored else run.quarantined).add(1, item.size)
        return sorted(runs.values(), key=lambda run: run.run_id)

    def find(self, addresses: frozenset[str]) -> dict[str, str]:
        """Returns, for those of the addresses whose objects are in quarantine, the run that has
        them.
        """
        return {
            item.address: part.run
            for part, objects, restored in self._with_restored()
            for item in objects
            if item.address in addresses and (part.name, item.address) not in restored
        }

    def _with_restored(
        self,
    ) -> Iterator[tuple[Part, list[QuarantinedObject], set[tuple[str, str]]]]:
        """Yields each part with its objects, and the restored objects of its run."""
        restored: dict[str, set[tuple[str, str]]] = {}
        for part, objects in self.read_all(self.parts()):
            if part.run not in restored:
                restored[part.run] = self.restored(part.run)
            yield part, objects, restored[part.run]

    def address(self, part: Part) -> str:
        """Returns the full address of the file of a part."""
        return f"{self._runs}{part.run}/{QUARANTINE}{part.name}.parquet"

    def _put(
        self,
        address: str,
        rows: Sequence[Mapping[str, object]],
        schema: pa.Schema,
        *,
        if_absent: bool = False,
    ) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink, compression="zstd")
        self._blocks.put(address, [sink.getvalue().to_pybytes()], if_absent=if_absent)

    def _read(self, address: str, schema: pa.Schema) -> pa.Table:
        """Returns a file's rows; an empty table if another process removed it meanwhile."""
        try:
            # a part is small: threads and `pq.read_table` would take ten times as long
            return pq.ParquetFile(pa.BufferReader(self._blocks.read(address))).read(
                use_threads=False
            )
        except Gone:
            return schema.empty_table()
        except (pa.ArrowException, OSError) as error:
            raise Corrupt(f"{address}: cannot be read: {reason_of(error)}", path=address) from error


def _rows(part: Part, objects: Sequence[QuarantinedObject]) -> list[Mapping[str, object]]:
    times = {"removed_at": part.removed_at, "until": part.until}
    return [{**item._asdict(), **times} for item in objects]
