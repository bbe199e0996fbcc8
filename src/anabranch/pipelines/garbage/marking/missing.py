"""Missing: objects that references need and that the store does not have.

The hashes of living addresses that no listed object has are the start. Most of them are harmless:
an object that was stored after the listing, an upload in parts that has not ended. So the entries
with these hashes are read again, those named shortly before the run or later are left out, and the
store is asked for each of the others before it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.model.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.candidates import named_at
from anabranch.pipelines.garbage.addresses.namespace import Namespace, Reading
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.marking.needs import combined, needs_of_ranges
from anabranch.pipelines.garbage.marking.range_tree import range_tree
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = [
    "CLOCK_SECONDS",
    "MISSING",
    "SHOWN_REFERENCES",
    "Missing",
    "MissingReference",
    "MissingTracer",
    "missing_text",
    "named_before",
    "needed_by",
    "staged_on",
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
    `location`. If not `complete`, there are more than the run reports. `quarantine` has,
    for those of their addresses that can be restored, the run that has the object in quarantine.
    """

    checked: Literal["all", "committed", "none"] = "none"
    objects: int = 0
    references: int = 0
    complete: bool = True
    location: str = ""
    shown: list[MissingReference] = msgspec.field(default_factory=list)
    quarantine: dict[str, str] = {}


def missing_text(missing: Missing) -> str:
    """Returns one line about the missing objects, for people."""
    if missing.checked == "none":
        return "not checked"
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


def staged_on(branch: str) -> str:
    """Returns how a report names staged changes of a branch."""
    return f"staged on {branch}"


def named_before(addresses: pa.StringArray, before: int) -> npt.NDArray[np.bool_]:
    """Returns which addresses look like ours and were named before a time, in seconds since
    1970.
    """
    named = named_at(addresses)
    return (named >= 0) & (named < before)


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

    def staged(self, collected: Repository, namespace: Namespace) -> list[MissingReference]:
        """Returns the staged entries of all repositories that need missing objects of the collected
        one. Raises Corrupt.
        """
        staged = self._installation.staged(collected, namespace)
        if staged is None:
            self.checked = "committed"
            return []
        branches: dict[tuple[str, _Row], list[str]] = {}
        for rows in staged:
            for row in self._missing(rows.paths, rows.addresses):
                names = branches.setdefault((rows.repository, row), [])
                if (name := staged_on(rows.branch)) not in names:
                    names.append(name)
        return [
            MissingReference(row.address, repository, row.path, names)
            for (repository, row), names in branches.items()
        ]

    def committed(
        self,
        repository: Repository,
        reading: Reading,
        ranges: Iterable[kernel.RangeInfo],
        now: float,
    ) -> list[MissingReference]:
        """Returns the entries of ranges of a repository that need missing objects. `ranges` are
        those of active commits that have absent hashes; `now` is in seconds since 1970. Raises
        NotFound, Gone and Corrupt.
        """
        rows: dict[_Row, list[str]] = {}
        for info in ranges:
            with range_tree(self._installation, repository, info) as tree:
                for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                    for columns in reading.rows(batch):
                        for row in self._missing(*columns):
                            rows.setdefault(row, []).append(info.id)
        if not rows:
            return []
        range_ids = {range_id for ids in rows.values() for range_id in ids}
        needs = needs_of_ranges(self._installation, repository, range_ids, now)
        found = []
        for row, ids in rows.items():
            # a range is in no active commit any more if the rules have been changed meanwhile
            if row_needs := [need for range_id in ids for need in needs.get(range_id, ())]:
                need = combined(row_needs)
                found.append(MissingReference(row.address, repository.id, row.path, *need))
        return found

    def _missing(self, paths: pa.StringArray, addresses: pa.StringArray) -> Iterator[_Row]:
        """Yields the entries whose objects are missing."""
        wanted = named_before(addresses, self._before) & is_in(
            hash_addresses(addresses), self._absent
        )
        if not wanted.any():
            return
        mask = pa.array(wanted)
        texts = addresses.filter(mask).to_pylist()
        self._look_up(texts)
        for path, address in zip(paths.filter(mask).to_pylist(), texts, strict=True):
            if not self._there[address] and self._room > 0:
                self._room -= 1
                yield _Row(path, address)

    def _look_up(self, addresses: Iterable[str]) -> None:
        if self._room <= 0:
            self._there.update((name, True) for name in addresses if name not in self._there)
            return
        unknown = [name for name in dict.fromkeys(addresses) if name not in self._there]
        found = parallel_map(self._is_there, unknown)
        self._there.update(zip(unknown, found, strict=True))
