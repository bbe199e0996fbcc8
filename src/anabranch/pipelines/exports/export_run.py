"""One run of an export, which records its start, progress and end at the destination."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import Conflict
from anabranch.pipelines.exports.copier import SHOWN, Copied
from anabranch.pipelines.exports.destination import Destination
from anabranch.pipelines.exports.extra_files import remove_extra_files
from anabranch.pipelines.exports.state import STATE, State, encode_state, export_marker, read_state
from anabranch.pipelines.jobs.task_totals import TaskTotals

__all__ = ["ExportRun", "ExportSummary"]


class ExportSummary(msgspec.Struct, kw_only=True):
    """Result of an export: `stored` objects of `bytes` in total, `removed` paths that the commit
    no longer has, `extra` paths that did not come from the repository. `invalid` paths were
    skipped; `shown` has the messages of the first of these. `phases` are the seconds that each
    phase of an export on Spark took, `tasks` the totals of their tasks.
    """

    repository: str
    commit: str
    destination: str
    before: str = ""
    stored: int = 0
    bytes: int = 0
    removed: int = 0
    extra: int = 0
    invalid: int = 0
    shown: list[str] = []
    marker: str = ""
    started_at: float
    ended_at: float = 0.0
    phases: dict[str, float] = {}
    tasks: dict[str, TaskTotals] = {}


class ExportRun:
    """A run that exports a commit: `summary` is its result so far, `state` that of the destination.

    Raises Conflict for the destination of another repository's export, unless `everything` is
    copied regardless of the state. `clock` returns seconds since 1970.
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
        """The commits whose objects may be at the destination; the last one is being exported."""
        *others, last = self.state.attempts
        return [*(commit for commit in dict.fromkeys(others) if commit != last), last]

    @property
    def own_files(self) -> frozenset[str]:
        """The files at the destination that describe exports."""
        return frozenset({STATE, self.state.marker})

    def checkpoint(self, path: str, copied: Copied) -> None:
        """Records that the export is complete up to a path, and adds the copies to the summary."""
        self.state = msgspec.structs.replace(self.state, after=path)
        self._destination.write_notes({STATE: encode_state(self.state)})
        self.summary.stored += copied.stored
        self.summary.bytes += copied.bytes
        self.summary.invalid += copied.invalid
        self.summary.shown = [*self.summary.shown, *copied.shown][:SHOWN]

    def remove_extra(self, tree: kernel.Tree) -> None:
        """Removes paths that are not in the tree. Raises Gone and Corrupt for tables that are
        missing or damaged.
        """
        self.summary.extra += remove_extra_files(self._destination, tree, self.own_files)

    def end(self) -> ExportSummary:
        """Records that the export is complete, and returns its result."""
        self._destination.sync()
        summary, state = self.summary, self.state
        summary.ended_at = self._clock()
        summary.marker = export_marker(summary.commit, summary.ended_at)
        new = State(repository=state.repository, complete=summary.commit, marker=summary.marker)
        notes: dict[str, bytes | None] = {STATE: encode_state(new)}
        if state.marker != summary.marker:
            notes = {**({state.marker: None} if state.marker else {}), **notes}
        self._destination.write_notes({**notes, summary.marker: msgspec.json.encode(summary)})
        return summary

    def _begin(self, *, everything: bool) -> State:
        """Records the start of the run, and returns the state."""
        repository, commit = self.summary.repository, self.summary.commit
        state = None if everything else read_state(self._destination)
        if state is not None and state.repository != repository:
            raise Conflict(
                f"{self._destination.address}: holds an export of the repository "
                f"{state.repository}",
                kind="other_export",
                hint="Choose another destination, or export everything.",
            )
        if state is None:
            state = State(repository=repository)
        if not state.attempts or state.attempts[-1] != commit:
            state = msgspec.structs.replace(state, after="", attempts=(*state.attempts, commit))
        elif len(state.attempts) > 1:
            state = msgspec.structs.replace(state, after="")
        self._destination.write_notes({STATE: encode_state(state)})
        return state
