"""An attempt to bring a commit to a place: written down when it begins, and when all is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import Conflict
from anabranch.model.names import key_of
from anabranch.pipelines.exports.copying import SHOWN, Copied
from anabranch.pipelines.exports.destination import Destination
from anabranch.pipelines.exports.pages import pages
from anabranch.pipelines.exports.state import STATE, State, marker_of, read_state, state_bytes
from anabranch.versioning.trees import translated

__all__ = ["Attempt", "ExportSummary"]

_PAGE = 1_000


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


class Attempt:
    """Brings a commit to a place: `summary` is of what was done, `state` what the place says.

    Raises Conflict for a place that holds another repository's export, unless `everything` shall
    be copied, whatever the place says that it has. `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        destination: Destination,
        repository: str,
        commit: str,
        *,
        clock: Callable[[], float],
        everything: bool,
    ) -> None:
        self._destination = destination
        self._clock = clock
        self.summary = ExportSummary(
            repository=repository,
            commit=commit,
            destination=destination.address,
            started_at=clock(),
        )
        self.state = self._begin(everything=everything)
        self.summary.before = self.state.complete

    @property
    def commits(self) -> list[str]:
        """The commits whose objects may be there; the last one is what shall be there."""
        *others, last = self.state.attempts
        return [*(each for each in dict.fromkeys(others) if each != last), last]

    def reach(self, path: str, done: Copied) -> None:
        """Writes down that all is there up to a path, and counts what was done for that."""
        self.state = msgspec.structs.replace(self.state, after=path)
        self._destination.write_notes({STATE: state_bytes(self.state)})
        self.summary.stored += done.stored
        self.summary.bytes += done.bytes
        self.summary.unfit += done.unfit
        self.summary.shown = [*self.summary.shown, *done.shown][:SHOWN]

    def remove_extra(self, tree: kernel.Tree) -> None:
        """Removes what is at the place and not in the tree. Raises Gone and Corrupt for tables that
        are missing or damaged.
        """
        for page in pages(self._extra(tree), _PAGE):
            self._destination.remove(page)
            self.summary.extra += len(page)

    def _extra(self, tree: kernel.Tree) -> Iterator[str]:
        own = {STATE, self.state.marker}
        for path in self._destination.paths():
            if path not in own:
                with translated():
                    known = tree.get(key_of(path)) is not None
                if not known:
                    yield path

    def end(self) -> ExportSummary:
        """Writes down that the commit is there; returns what was done."""
        self._destination.settle()
        summary, state = self.summary, self.state
        summary.ended_at = self._clock()
        summary.marker = marker_of(summary.commit, summary.ended_at)
        done = State(repository=state.repository, complete=summary.commit, marker=summary.marker)
        notes: dict[str, bytes | None] = {STATE: state_bytes(done)}
        if state.marker != summary.marker:
            notes = {**({state.marker: None} if state.marker else {}), **notes}
        self._destination.write_notes({**notes, summary.marker: msgspec.json.encode(summary)})
        return summary

    def _begin(self, *, everything: bool) -> State:
        """Writes down what begins, and returns it."""
        repository, commit = self.summary.repository, self.summary.commit
        state = None if everything else read_state(self._destination)
        if state is not None and state.repository != repository:
            raise Conflict(
                f"{self._destination.address}: holds an export of the repository "
                f"{state.repository}",
                kind="other_export",
                hint="Choose another place, or export everything.",
            )
        if state is None:
            state = State(repository=repository)
        if not state.attempts or state.attempts[-1] != commit:
            state = msgspec.structs.replace(state, after="", attempts=(*state.attempts, commit))
        elif len(state.attempts) > 1:
            state = msgspec.structs.replace(state, after="")
        self._destination.write_notes({STATE: state_bytes(state)})
        return state
