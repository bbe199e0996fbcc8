"""Missing: objects that references need and that the store does not have.

The hashes of living addresses that no listed object has are the start. Most of them are harmless:
an object that was stored after the listing, an upload in parts that has not ended. So the entries
with these hashes are read again, those named shortly before the run or later are left out, and the
store is asked for each of the others before it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.model.repository import Repository
from anabranch.pipelines.garbage.address_hashes import Hashes, hashes_of
from anabranch.pipelines.garbage.candidates import named_at
from anabranch.pipelines.garbage.installation import Installation
from anabranch.pipelines.garbage.namespace import Reading
from anabranch.pipelines.garbage.range_tree import range_tree
from anabranch.pipelines.garbage.unmarked import is_in
from anabranch.pipelines.side_by_side import side_by_side

__all__ = [
    "CLOCK_SECONDS",
    "MISSING",
    "SHOWN_REFERENCES",
    "Missing",
    "MissingReference",
    "MissingTracer",
    "missing_text",
    "needed_by",
]

CLOCK_SECONDS = 3600
"""The difference between two clocks of an installation, at most."""

SHOWN_REFERENCES = 1000
"""The number of references in a summary, at most."""

_MOST_REFERENCES = 1_000_000
"""The number of references that a run reports, at most: they are kept in memory."""

MISSING = pa.schema(
    [
        pa.field("address", pa.string(), nullable=False),
        pa.field("repository", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("references", pa.list_(pa.string()), nullable=False),
        pa.field("commit", pa.string(), nullable=False),
        pa.field("commits", pa.int64(), nullable=False),
    ]
)
"""A row is a `MissingReference`."""


class MissingReference(msgspec.Struct, frozen=True):
    """A path of a repository that needs a missing object. `address` is relative to the collected
    namespace. `references` are `staged on BRANCH`, `branch BRANCH`, `tag TAG` and `pin`, those that
    name the path's commits themselves; `commit` is one of the active `commits` with the path, empty
    where the path is only staged.
    """

    address: str
    repository: str
    path: str
    references: list[str]
    commit: str = ""
    commits: int = 0


class Missing(msgspec.Struct):
    """The missing objects that a run has found. `checked` says which references were: all, only
    those of commits, or none. `shown` are the first of the `references`; all are in the file at
    `location`. If not `complete`, there are more than the run reports.
    """

    checked: Literal["all", "committed", "none"] = "none"
    objects: int = 0
    references: int = 0
    complete: bool = True
    location: str = ""
    shown: list[MissingReference] = msgspec.field(default_factory=list)


def missing_text(missing: Missing) -> str:
    """Returns one line about the missing objects, for people."""
    if missing.checked == "none":
        return "not checked by this engine"
    part = "" if missing.checked == "all" else "; staged changes were not checked"
    least = "" if missing.complete else "at least "
    objects = f"{missing.objects:,} object{'' if missing.objects == 1 else 's'}"
    return f"{least}{objects}{part}"


def needed_by(reference: MissingReference) -> str:
    """Returns what needs a missing object, for people."""
    names = list(reference.references)
    if reference.commit:
        others = f" and {reference.commits - 1:,} more" if reference.commits > 1 else ""
        names.append(f"commit {reference.commit}{others}")
    return ", ".join(names)


class _Row(NamedTuple):
    """An entry of a range or a staging area."""

    path: str
    address: str


class MissingTracer:
    """Traces hashes without an object to the references that need one. `absent` are sorted; only
    addresses that were named before `before`, in seconds since 1970, count. `is_there` asks the
    store for a relative address.
    """

    def __init__(
        self,
        installation: Installation,
        absent: Hashes,
        before: int,
        is_there: Callable[[str], bool],
    ) -> None:
        self._installation = installation
        self._absent = absent
        self._before = before
        self._is_there = is_there
        self._there: dict[str, bool] = {}
        self._room = _MOST_REFERENCES
        self.checked: Literal["all", "committed"] = "all"

    @property
    def complete(self) -> bool:
        """Whether no reference was left out."""
        return self._room > 0

    def trace(
        self,
        repository: Repository,
        reading: Reading,
        ranges: Sequence[kernel.RangeInfo],
        now: float,
    ) -> list[MissingReference]:
        """Returns the references of a repository to missing objects. `ranges` are those of active
        commits that have absent hashes; `now` is in seconds since 1970. Raises NotFound, Gone and
        Corrupt.
        """
        return [
            *self._staged(repository, reading),
            *self._committed(repository, reading, ranges, now),
        ]

    def _staged(self, repository: Repository, reading: Reading) -> Iterator[MissingReference]:
        staged = self._installation.staged(repository)
        if staged is None:
            self.checked = "committed"
            return
        branches: dict[_Row, list[str]] = {}
        for branch, batch in staged:
            for row in self._missing([batch], reading):
                names = branches.setdefault(row, [])
                if (name := f"staged on {branch}") not in names:
                    names.append(name)
        for row, names in branches.items():
            yield MissingReference(row.address, repository.id, row.path, names)

    def _committed(
        self,
        repository: Repository,
        reading: Reading,
        ranges: Sequence[kernel.RangeInfo],
        now: float,
    ) -> Iterator[MissingReference]:
        rows: dict[str, list[_Row]] = {}
        for info in ranges:
            with range_tree(self._installation, repository, info) as tree:
                batches = pa.RecordBatchReader.from_stream(tree.scan())
                if found := list(self._missing(batches, reading)):
                    rows[info.id] = found
        if not rows:
            return
        holding: dict[str, list[str]] = {}  # of each tree, the ranges with missing objects
        references: dict[_Row, MissingReference] = {}
        for active in self._installation.active(repository, now):
            if active.tree not in holding:
                tree_ranges = self._installation.ranges(repository, active.tree)
                holding[active.tree] = [info.id for info in tree_ranges if info.id in rows]
            for range_id in holding[active.tree]:
                for row in rows[range_id]:
                    known = references.get(row)
                    references[row] = MissingReference(
                        row.address,
                        repository.id,
                        row.path,
                        [*(known.references if known else ()), *active.references],
                        known.commit if known else active.commit,
                        known.commits + 1 if known else 1,
                    )
        yield from references.values()

    def _missing(self, batches: Iterable[pa.RecordBatch], reading: Reading) -> Iterator[_Row]:
        """Yields the entries whose objects are missing."""
        for batch in batches:
            columns = (batch.column("physical_address"), batch.column("address_type"))
            for places, addresses in reading.located(*columns):
                named = named_at(addresses)
                wanted = (named >= 0) & (named < self._before)
                wanted &= is_in(hashes_of(addresses), self._absent)
                if not wanted.any():
                    continue
                mask = pa.array(wanted)
                texts = addresses.filter(mask).to_pylist()
                paths = batch.column("path").take(places.filter(mask)).to_pylist()
                self._look_up(texts)
                for path, address in zip(paths, texts, strict=True):
                    if not self._there[address] and self._room > 0:
                        self._room -= 1
                        yield _Row(path, address)

    def _look_up(self, addresses: Iterable[str]) -> None:
        if self._room <= 0:
            self._there.update((name, True) for name in addresses if name not in self._there)
            return
        unknown = [name for name in dict.fromkeys(addresses) if name not in self._there]
        found = side_by_side(self._is_there, unknown)
        self._there.update(zip(unknown, found, strict=True))
