"""Missing objects, which references need and the store does not have.

The search starts with the hashes of reachable addresses that are not in the listing. Most of them
are harmless: objects stored after the listing, and unfinished multipart uploads. Therefore the
entries with these hashes are read again; addresses generated shortly before the run or later are
skipped, and the store is queried for each of the others before it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.candidates import creation_times
from anabranch.pipelines.garbage.addresses.namespace import AddressResolver, Namespace
from anabranch.pipelines.garbage.addresses.range_tree import range_tree
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.marking.needs import combine_needs, find_needs
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = [
    "MAX_SHOWN_REFERENCES",
    "MISSING",
    "Missing",
    "MissingReference",
    "MissingTracer",
    "created_before",
    "format_missing",
    "format_needs",
    "may_be_missing",
    "staged_reference",
]

MAX_SHOWN_REFERENCES = 1000
"""The largest number of references in a summary."""

_MAX_REFERENCES = 1_000_000
"""The largest number of references that a run reports, which are kept in memory."""

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
    """A path of a repository whose object is missing. `address` is relative to the collected
    namespace. `references` are `staged on BRANCH`, and `branch BRANCH`, `tag TAG` and `pin` of the
    references that point at commits with the path. `commits` is the number of active commits with
    the path, and `commit` is one of them, empty if the path is only staged.
    """

    address: str
    repository: str
    path: str
    references: list[str]
    commit: str = ""
    commits: int = 0


class Missing(msgspec.Struct):
    """The missing objects that a run has found. `checked` tells which references were checked: all,
    only those of commits, or none. `shown` has the first of the `references`; all are in the file
    at `location`. If not `complete`, there are more than the run reports. `quarantine` maps the
    addresses in `shown` whose objects can be restored to the run that has them in quarantine.
    """

    checked: Literal["all", "committed", "none"] = "none"
    objects: int = 0
    references: int = 0
    complete: bool = True
    location: str = ""
    shown: list[MissingReference] = msgspec.field(default_factory=list)
    quarantine: dict[str, str] = {}


def format_missing(missing: Missing) -> str:
    """Returns one line about the missing objects, for people."""
    if missing.checked == "none":
        return "not checked"
    part = "" if missing.checked == "all" else "; staged changes were not checked"
    least = "" if missing.complete else "at least "
    objects = f"{missing.objects:,} object{'' if missing.objects == 1 else 's'}"
    return f"{least}{objects}{part}"


def format_needs(reference: MissingReference) -> str:
    """Returns a text for people with the references and commits that need a missing object."""
    names = list(reference.references)
    if reference.commit:
        others = f" and {reference.commits - 1:,} more" if reference.commits > 1 else ""
        names.append(f"commit {reference.commit}{others}")
    return ", ".join(names)


def staged_reference(branch: str) -> str:
    """Returns the name of a branch's staged changes in a report."""
    return f"staged on {branch}"


def may_be_missing(addresses: pa.StringArray, absent: Hashes, before: int) -> npt.NDArray[np.bool_]:
    """Returns for each address whether its hash is among absent ones, which are sorted, and it was
    generated before a time, in seconds since 1970.
    """
    return created_before(addresses, before) & is_in(hash_addresses(addresses), absent)


def created_before(addresses: pa.StringArray, before: int) -> npt.NDArray[np.bool_]:
    """Returns for each address whether it was generated before a time, in seconds since 1970."""
    created = creation_times(addresses)
    return (created >= 0) & (created < before)


class _Row(NamedTuple):
    """An entry of a range or a staging area."""

    path: str
    address: str


class MissingTracer:
    """Traces absent hashes to the references with these addresses. `absent` is sorted. Only
    addresses generated before `before`, in seconds since 1970, count. `exists` queries the store
    for a relative address.
    """

    def __init__(
        self,
        installation: Installation,
        absent: Hashes,
        before: int,
        exists: Callable[[str], bool],
    ) -> None:
        self._installation = installation
        self.absent = absent
        self._before = before
        self._exists = exists
        self._presence: dict[str, bool] = {}
        self._remaining = _MAX_REFERENCES
        self.checked: Literal["all", "committed"] = "all"

    @property
    def complete(self) -> bool:
        """Whether no reference was left out."""
        return self._remaining > 0

    def staged(self, collected: Repository, namespace: Namespace) -> list[MissingReference]:
        """Returns the staged entries of all repositories that need missing objects of the collected
        one. Raises Corrupt.
        """
        staged = self._installation.staged_entries(collected, namespace)
        if staged is None:
            self.checked = "committed"
            return []
        branches: dict[tuple[str, _Row], list[str]] = {}
        for rows in staged:
            for row in self._missing(rows.paths, rows.addresses):
                names = branches.setdefault((rows.repository, row), [])
                if (name := staged_reference(rows.branch)) not in names:
                    names.append(name)
        return [
            MissingReference(row.address, repository, row.path, names)
            for (repository, row), names in branches.items()
        ]

    def committed(
        self,
        repository: Repository,
        resolver: AddressResolver,
        ranges: Iterable[kernel.RangeInfo],
        now: float,
    ) -> list[MissingReference]:
        """Returns the entries of a repository's ranges that need missing objects. `ranges` are the
        ranges of active commits with absent hashes; `now` is in seconds since 1970. Raises
        NotFound, Gone and Corrupt.
        """
        rows: dict[_Row, list[str]] = {}
        for info in ranges:
            path = self._installation.locate(repository, info.id)
            with range_tree(info, path) as tree:
                for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                    for columns in resolver.resolve_batch(batch):
                        for row in self._missing(*columns):
                            rows.setdefault(row, []).append(info.id)
        if not rows:
            return []
        range_ids = {range_id for ids in rows.values() for range_id in ids}
        needs = find_needs(self._installation, repository, range_ids, now)
        references = []
        for row, ids in rows.items():
            # a range may no longer be in any active commit if the rules have changed meanwhile
            if row_needs := [need for range_id in ids for need in needs.get(range_id, ())]:
                need = combine_needs(row_needs)
                references.append(MissingReference(row.address, repository.id, row.path, *need))
        return references

    def _missing(self, paths: pa.StringArray, addresses: pa.StringArray) -> Iterator[_Row]:
        """Yields the entries whose objects are missing."""
        wanted = may_be_missing(addresses, self.absent, self._before)
        if not wanted.any():
            return
        mask = pa.array(wanted)
        texts = addresses.filter(mask).to_pylist()
        self._check_presence(texts)
        for path, address in zip(paths.filter(mask).to_pylist(), texts, strict=True):
            if not self._presence[address] and self._remaining > 0:
                self._remaining -= 1
                yield _Row(path, address)

    def _check_presence(self, addresses: Iterable[str]) -> None:
        if self._remaining <= 0:
            self._presence.update((name, True) for name in addresses if name not in self._presence)
            return
        unknown = [name for name in dict.fromkeys(addresses) if name not in self._presence]
        self._presence.update(zip(unknown, parallel_map(self._exists, unknown), strict=True))
