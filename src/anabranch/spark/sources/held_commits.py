"""Pins of the commits that DataFrames were planned on, as long as a session may read them.

It is not known when a DataFrame is used for the last time, because DataFrames derived from it do
not refer to it. The driver therefore pins a commit until the session stops, the lake is closed or
the process ends, for a day at most. All commits of a repository share one pin, which the driver
renews; tasks do nothing for it.

A process that plans a query of the format `anabranch` ends immediately, so it pins commits for an
hour.

A DataFrame reads tables, which are never removed. It can therefore be created without a pin, with a
warning: only the objects that it names may be removed.
"""

from __future__ import annotations

import atexit
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from anabranch.errors import Conflict
from anabranch.pipelines.jobs.leases import Lease
from anabranch.spark.sources.references import References
from anabranch.spark.sources.server_source import Server
from anabranch.versioning.garbage.pins import MAX_PIN_SECONDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.library import Lake

__all__ = ["HOLD_SECONDS", "hold", "pin_for_query"]

HOLD_SECONDS = 24 * 3600.0
"""The seconds that a commit is pinned after a DataFrame was planned on it."""

_MAX_COMMITS = 1000

_Place: TypeAlias = "tuple[Lake | Server, str]"


def hold(
    spark: SparkSession,
    source: Lake | Server,
    repository: str,
    references: References,
    commit_ids: Iterable[str],
) -> None:
    """Pins the objects of commits of a repository as long as a session may read them. Warns about
    commits that have expired during a sweep.
    """
    while not _held_in((source, repository), references).hold(spark, commit_ids):
        pass  # the last commits were released in this moment


def pin_for_query(references: References, commit_ids: Iterable[str]) -> None:
    """Pins the objects of commits for an hour. Warns as `hold` does."""
    for commit_id in commit_ids:
        pin = references.new_pin(f"read-{commit_id}")
        _or_warn(pin.pin, [commit_id], MAX_PIN_SECONDS)


class _HeldCommits:
    """The pinned commits of a repository. `forget` is called when the last one was released."""

    def __init__(self, references: References, forget: Callable[[], object]) -> None:
        self._references = references
        self._forget = forget
        self._lock = threading.Lock()
        self._until: dict[str, float] = {}
        self._lease: Lease | None = None
        self._session: Any = None
        self._ended = False

    def hold(self, spark: SparkSession, commit_ids: Iterable[str]) -> bool:
        """Pins further commits. Returns False if all commits were released already."""
        with self._lock:
            self._session = spark
            for commit_id in commit_ids:
                if not self._ended:
                    self._add(commit_id)
            return not self._ended

    def end(self) -> None:
        """Releases all commits."""
        with self._lock:
            self._ended = True
        self._forget()
        if self._lease is not None:
            self._lease.end()

    def _add(self, commit_id: str) -> None:
        now = time.monotonic()
        until = {name: end for name, end in self._until.items() if end > now}
        is_new = commit_id not in until
        until.pop(commit_id, None)
        until[commit_id] = now + HOLD_SECONDS
        newest = dict(list(until.items())[-_MAX_COMMITS:])
        if not is_new or _or_warn(self._pin, list(newest)):
            self._until = newest

    def _pin(self, commit_ids: Sequence[str]) -> None:
        if self._lease is None:
            self._lease = Lease(self._references.new_pin(), commit_ids, is_needed=self._is_wanted)
        else:
            self._lease.pin(commit_ids)

    def _is_wanted(self) -> bool:
        with self._lock:
            now = time.monotonic()
            if _is_stopped(self._session) or all(end <= now for end in self._until.values()):
                self._ended = True
        if self._ended:
            self._forget()
        return not self._ended


def _or_warn(pin: Callable[..., None], *args: Any) -> bool:
    """Returns whether commits could be pinned. Warns about expired ones."""
    try:
        pin(*args)
    except Conflict as error:
        if error.kind != "commit_expired":
            raise
        warnings.warn(f"{error.message}: objects of it may be missing", stacklevel=6)
        return False
    return True


def _is_stopped(spark: Any) -> bool:
    """Returns whether a session was stopped, of Spark Connect or of this process."""
    stopped = getattr(spark, "is_stopped", None)
    if stopped is not None:
        return bool(stopped)
    context = getattr(spark, "_sc", None)
    return getattr(context, "_jsc", None) is None


_held: dict[_Place, _HeldCommits] = {}
_lock = threading.Lock()


def _held_in(place: _Place, references: References) -> _HeldCommits:
    """Returns the pinned commits of a repository."""

    def forget() -> None:
        with _lock:
            if _held.get(place) is held:
                del _held[place]

    with _lock:
        found = _held.get(place)
        if found is not None:
            return found
        held = _held[place] = _HeldCommits(references, forget)
    source, _ = place
    if not isinstance(source, Server):
        source.before_close(held.end)
    return held


@atexit.register
def _release_all() -> None:
    for held in list(_held.values()):
        with suppress(Exception):  # the pins end by themselves
            held.end()
