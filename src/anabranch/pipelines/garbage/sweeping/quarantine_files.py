"""What is in quarantine, as it is written down beside the files of the run that removed it.

    RUN/quarantine/PART.parquet   objects, before they are removed: address, size, version, times
    RUN/restored/ID.parquet       those that were restored since: part and address

PART is `REMOVED-UNTIL-ID`, both times in seconds since 1970. A part is removed when all of its
objects have been purged. What was to be removed and was not, because the process was killed, is in
a part too: it is still at its address, and neither restoring nor purging changes it.
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
from anabranch.errors import Corrupt, Gone
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.object_totals import ObjectTotals
from anabranch.pipelines.garbage.run_files import QUARANTINE, RESTORED, RUNS
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = ["Held", "Part", "QuarantineFiles", "QuarantinedRun"]

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


class Held(NamedTuple):
    """An object in quarantine; `address` is relative to the namespace, `version` the store's."""

    address: str
    size: int
    version: str


class Part(NamedTuple):
    """Objects that one run removed at one time; `until` then they can be restored."""

    run: str
    name: str
    removed_at: int
    until: int

    @property
    def batch(self) -> str:
        """The part's name among those of all runs."""
        return f"{self.run}/{self.name}"


class QuarantinedRun(msgspec.Struct):
    """What a run has in quarantine, and how much of it has been `restored`; times are in seconds
    since 1970, `until` that of the part that ends last.
    """

    run_id: str
    removed_at: int
    until: int
    quarantined: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    restored: ObjectTotals = msgspec.field(default_factory=ObjectTotals)


class QuarantineFiles:
    """The parts of all runs in a namespace. Raises Corrupt for one that cannot be read."""

    def __init__(self, blocks: BlockStore, namespace: Namespace) -> None:
        self._blocks = blocks
        self._runs = namespace.stem + RUNS

    def write(self, run: str, removed_at: int, until: int, held: Sequence[Held]) -> Part:
        """Writes a new part, durably, and returns it."""
        name = f"{removed_at:010d}-{until:010d}-{secrets.token_hex(8)}"
        part = Part(run, name, removed_at, until)
        rows = [{**each._asdict(), "removed_at": removed_at, "until": until} for each in held]
        self._put(self._address(part), rows, _QUARANTINED)
        return part

    def parts(self, run: str | None = None) -> list[Part]:
        """Returns the parts of all runs or of one, those that were written first ahead."""
        stem = self._runs if run is None else f"{self._runs}{run}/"
        found = []
        for block in self._blocks.list(stem):
            match = _PART.fullmatch(block.address.removeprefix(self._runs))
            if match is not None:
                found.append(Part(match["run"], match["name"], int(match[3]), int(match[4])))
        return sorted(found, key=lambda part: (part.removed_at, part))

    def read(self, part: Part) -> list[Held]:
        """Returns the objects of a part; none if it has been removed meanwhile."""
        table = self._read(self._address(part), _QUARANTINED)
        columns = (table.column(name).to_pylist() for name in Held._fields)
        return [Held(*row) for row in zip(*columns, strict=True)]

    def read_all(self, parts: Iterable[Part]) -> Iterator[tuple[Part, list[Held]]]:
        """Yields parts with their objects."""
        return parallel_map(lambda part: (part, self.read(part)), parts)

    def remove(self, part: Part) -> None:
        """Removes a part, and the notes about its run if that has no other."""
        self._blocks.delete([self._address(part)])
        if not self.parts(part.run):
            notes = self._blocks.list(f"{self._runs}{part.run}/{RESTORED}")
            self._blocks.delete([block.address for block in notes])

    def note_restored(self, part: Part, addresses: Sequence[str]) -> None:
        """Writes down that objects of a part were restored."""
        rows = [{"part": part.name, "address": address} for address in addresses]
        name = f"{self._runs}{part.run}/{RESTORED}{secrets.token_hex(8)}.parquet"
        self._put(name, rows, _RESTORED)

    def restored(self, run: str) -> set[tuple[str, str]]:
        """Returns the objects of a run that were restored, each as its part's name and address."""
        found: set[tuple[str, str]] = set()
        for block in list(self._blocks.list(f"{self._runs}{run}/{RESTORED}")):
            table = self._read(block.address, _RESTORED)
            columns = (table.column(name).to_pylist() for name in _RESTORED.names)
            found.update(zip(*columns, strict=True))
        return found

    def runs(self) -> list[QuarantinedRun]:
        """Returns the runs that have something in quarantine, the newest first."""
        found: dict[str, QuarantinedRun] = {}
        restored: dict[str, set[tuple[str, str]]] = {}
        for part, held in self.read_all(self.parts()):
            if part.run not in found:
                found[part.run] = QuarantinedRun(part.run, part.removed_at, part.until)
                restored[part.run] = self.restored(part.run)
            run = found[part.run]
            run.until = max(run.until, part.until)
            for each in held:
                is_restored = (part.name, each.address) in restored[part.run]
                (run.restored if is_restored else run.quarantined).add(1, each.size)
        return sorted(found.values(), key=lambda run: run.run_id)

    def find(self, addresses: frozenset[str]) -> dict[str, str]:
        """Returns the runs that have some of these addresses in quarantine, by address."""
        found: dict[str, str] = {}
        restored: dict[str, set[tuple[str, str]]] = {}
        for part, held in self.read_all(self.parts()):
            if part.run not in restored:
                restored[part.run] = self.restored(part.run)
            for each in held:
                if (
                    each.address in addresses
                    and (part.name, each.address) not in restored[part.run]
                ):
                    found[each.address] = part.run
        return found

    def _address(self, part: Part) -> str:
        return f"{self._runs}{part.run}/{QUARANTINE}{part.name}.parquet"

    def _put(self, address: str, rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink, compression="zstd")
        self._blocks.put(address, [sink.getvalue().to_pybytes()])

    def _read(self, address: str, schema: pa.Schema) -> pa.Table:
        """Returns a file's rows; none if another process has removed it meanwhile."""
        try:
            return pq.read_table(pa.BufferReader(self._blocks.read(address)))
        except Gone:
            return schema.empty_table()
        except (pa.ArrowException, OSError) as error:
            raise Corrupt(f"{address}: cannot be read: {error}", path=address) from error
