"""One export: what a reference means now is brought to a place, and nothing else is touched there.

    summary = Exporting(lake.core, lake.blocks).export("sea", "main", FolderDestination("/out"))

The place remembers what it holds. What is brought is the difference between that commit and the
new one, removals first, so that a path may become a folder; an export that was interrupted goes on
where it stopped, and one to another commit mends what the interrupted one has touched.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeAlias, TypeVar

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects import OpenObject
from anabranch.errors import AnabranchError, Conflict, Corrupt, Invalid
from anabranch.model.names import key_of, path_of
from anabranch.model.repository import Repository
from anabranch.pipelines.exports.checksums import md5_of
from anabranch.pipelines.exports.destination import UNFIT, Destination
from anabranch.pipelines.exports.places import require_apart
from anabranch.pipelines.exports.state import STATE, State, marker_of, read_state, state_bytes
from anabranch.versioning.core import Core
from anabranch.versioning.entries import entry_from
from anabranch.versioning.staging import Value
from anabranch.versioning.trees import translated

__all__ = ["ExportSummary", "Exporting"]

_PAGE = 1_000
_THREADS = 8
_SHOWN = 5

_Record: TypeAlias = tuple[bytes, Value]
_Change: TypeAlias = tuple[bytes, Value | None]
"""A key, and the value that it must have; None: nothing must be there."""

Item = TypeVar("Item")


class ExportSummary(msgspec.Struct, kw_only=True):
    """What an export has done: `stored` objects of so many `bytes`, `removed` paths that the
    commit has no more, `extra` ones that were never the repository's. `unfit` paths were left out,
    of which some are `shown`.
    """

    repository: str
    commit: str
    destination: str
    before: str = ""
    stored: int = 0
    bytes: int = 0
    removed: int = 0
    extra: int = 0
    unfit: int = 0
    shown: list[str] = []
    marker: str = ""
    started_at: float
    ended_at: float = 0.0


class Exporting:
    """Exports from the repositories of a lake. `clock` gives seconds since 1970; `told` hears how
    many changes more are done.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        *,
        clock: Callable[[], float] = time.time,
        told: Callable[[int], None] = lambda _: None,
        page: int = _PAGE,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._told = told
        self._page = page

    def export(
        self,
        repository: str,
        reference: str,
        destination: Destination,
        *,
        everything: bool = False,
        remove_extra: bool = False,
        leave_unfit: bool = False,
    ) -> ExportSummary:
        """Makes a place hold what a reference's commit holds, and returns what was done.

        With `everything`, all is copied, whatever the place says that it has. `remove_extra`
        removes files that are not the commit's, `leave_unfit` passes over paths that the place
        cannot have. Raises NotFound, Conflict for a place that holds another repository's export,
        Invalid (`UNFIT`) and for a place among the lake's own data, Corrupt where bytes are not
        those that were stored, Gone where they are lost.
        """
        found = self._core.repositories.get(repository)
        require_apart(destination, self._core.repositories.all(), self._blocks)
        commit = self._core.references.commit(found, reference)
        summary = ExportSummary(
            repository=repository,
            commit=commit.id,
            destination=destination.address,
            started_at=self._clock(),
        )
        state = self._begin(found, commit.id, destination, everything=everything)
        summary.before = state.complete
        work = _Work(destination, found, self._blocks, summary, leave_unfit=leave_unfit)
        # removals are few, and done again they do nothing: only copies are taken up half way
        changes = self._changes(found, state)
        for paths in _pages((path_of(key) for key, value in changes if value is None), self._page):
            work.remove(paths)
        changes = self._changes(found, state, after=state.after)
        records = ((key, value) for key, value in changes if value is not None)
        with ThreadPoolExecutor(_THREADS) as pool:
            for page in _pages(records, self._page):
                work.store(pool, page)
                state = msgspec.structs.replace(state, after=path_of(page[-1][0]))
                destination.write_notes({STATE: state_bytes(state)})
                self._told(len(page))
        if remove_extra:
            self._remove_extra(found, commit.id, destination, state, summary)
        self._end(commit.id, destination, state, summary)
        return summary

    def _begin(
        self, repository: Repository, commit_id: str, destination: Destination, *, everything: bool
    ) -> State:
        """Writes down what begins, and returns it."""
        state = None if everything else read_state(destination)
        if state is not None and state.repository != repository.id:
            raise Conflict(
                f"{destination.address}: holds an export of the repository {state.repository}",
                kind="other_export",
                hint="Choose another place, or export everything.",
            )
        if state is None:
            state = State(repository=repository.id)
        if not state.attempts or state.attempts[-1] != commit_id:
            state = msgspec.structs.replace(state, after="", attempts=(*state.attempts, commit_id))
        elif len(state.attempts) > 1:
            state = msgspec.structs.replace(state, after="")
        destination.write_notes({STATE: state_bytes(state)})
        return state

    def _changes(
        self, repository: Repository, state: State, *, after: str = ""
    ) -> Iterator[_Change]:
        """Yields what must be there at every path that an attempt may have touched, in order."""
        base = self._tree(repository, state.complete)
        target = self._tree(repository, state.attempts[-1])
        streams = [
            _touched(base, self._tree(repository, attempt), key_of(after), self._page)
            for attempt in dict.fromkeys(state.attempts)
        ]
        before: bytes | None = None
        for key in heapq.merge(*streams):
            if key != before:
                before = key
                with translated():
                    yield key, target.get(key)

    def _tree(self, repository: Repository, commit_id: str) -> kernel.Tree:
        if not commit_id:
            return self._core.trees.open(repository, kernel.EMPTY_TREE_ID)
        return self._core.objects.tree(repository, commit_id)

    def _remove_extra(
        self,
        repository: Repository,
        commit_id: str,
        destination: Destination,
        state: State,
        summary: ExportSummary,
    ) -> None:
        tree = self._tree(repository, commit_id)
        own = {STATE, state.marker}
        extra = (
            path
            for path in destination.paths()
            if path not in own and tree.get(key_of(path)) is None
        )
        for page in _pages(extra, self._page):
            destination.remove(page)
            summary.extra += len(page)

    def _end(
        self, commit_id: str, destination: Destination, state: State, summary: ExportSummary
    ) -> None:
        destination.settle()
        summary.ended_at = self._clock()
        summary.marker = marker_of(commit_id, summary.ended_at)
        done = State(repository=state.repository, complete=commit_id, marker=summary.marker)
        notes: dict[str, bytes | None] = {STATE: state_bytes(done)}
        if state.marker != summary.marker:
            notes = {**({state.marker: None} if state.marker else {}), **notes}
        destination.write_notes({**notes, summary.marker: msgspec.json.encode(summary)})


class _Work:
    """What is done to the place, and counted."""

    def __init__(
        self,
        destination: Destination,
        repository: Repository,
        blocks: BlockStore,
        summary: ExportSummary,
        *,
        leave_unfit: bool,
    ) -> None:
        self._destination = destination
        self._repository = repository
        self._blocks = blocks
        self._summary = summary
        self._leave_unfit = leave_unfit

    def remove(self, paths: Sequence[str]) -> None:
        """Removes what the commit has no more."""
        self._destination.remove(paths)
        self._summary.removed += len(paths)

    def store(self, pool: ThreadPoolExecutor, page: Sequence[_Record]) -> None:
        """Stores a page of objects, durably."""
        for size, refused in pool.map(self._store, page):
            if refused is None:
                self._summary.stored += 1
                self._summary.bytes += size
            else:
                self._summary.unfit += 1
                if len(self._summary.shown) < _SHOWN:
                    self._summary.shown.append(refused)
        self._destination.settle()

    def _store(self, record: _Record) -> tuple[int, str | None]:
        key, value = record
        path, entry = path_of(key), entry_from(value)
        if path == STATE:
            raise Invalid(
                f"{path!r} is the name of an export's own file", kind=UNFIT, hint="Rename it."
            )
        try:
            stored = self._destination.store(
                path, OpenObject(self._repository, entry, self._blocks)
            )
        except AnabranchError as error:
            if error.kind == UNFIT and self._leave_unfit:
                return 0, error.message
            raise
        expected = md5_of(entry)
        if stored.size != entry.size or (expected is not None and stored.checksum != expected):
            raise Corrupt(
                f"{path}: {stored.size} bytes with the MD5 {stored.checksum} came, "
                f"{entry.size} bytes with {entry.checksum} were stored",
                path=path,
            )
        return stored.size, None


def _touched(left: kernel.Tree, right: kernel.Tree, after: bytes, amount: int) -> Iterator[bytes]:
    """Yields the keys at which two trees differ, in order."""
    more = True
    while more:
        with translated():
            page = left.diff(right, after=after, amount=amount)
        for _, key, _, _ in page.rows:
            yield key
        more = page.has_more
        if more:
            after = page.rows[-1][1]


def _pages(items: Iterable[Item], amount: int) -> Iterator[list[Item]]:
    coming = iter(items)
    while page := list(islice(coming, amount)):
        yield page
