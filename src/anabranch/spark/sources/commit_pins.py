"""Pins of the commits that DataFrames read, which protect their objects from garbage collection.

It is not known when a DataFrame is used for the last time, because DataFrames derived from it do
not reference it. The driver therefore pins a commit until the session stops, the lake is closed or
the process ends, for a day at most. All commits of a repository share one pin, which the driver
renews.

The process that plans a query of the format `anabranch` exits after planning and cannot renew a
pin, so it pins commits for an hour.

A DataFrame reads tables, which garbage collection never removes. If its commit cannot be pinned, it
is therefore created nevertheless, with a warning that objects may be removed.
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

__all__ = ["SESSION_PIN_SECONDS", "pin_for_query", "pin_for_session"]

SESSION_PIN_SECONDS = 24 * 3600.0
"""How long a commit is pinned after the last DataFrame was planned on it, in seconds."""

_MAX_COMMITS = 1000

_RepositoryKey: TypeAlias = "tuple[Lake | Server, str]"


def pin_for_session(
    spark: SparkSession,
    source: Lake | Server,
    repository: str,
    references: References,
    commit_ids: Iterable[str],
) -> None:
    """Pins the objects of commits of a repository until the session stops. Warns if a sweep is
    running and a commit has expired.
    """
    while not _pinned_commits((source, repository), references).add(spark, commit_ids):
        pass  # a background thread has just released the last commit: create a new pin


def pin_for_query(references: References, commit_ids: Iterable[str]) -> None:
    """Pins the objects of commits for an hour. Warns like `pin_for_session`."""
    for commit_id in commit_ids:
        pin = references.new_pin(f"read-{commit_id}")
        _try_pin(pin.pin, [commit_id], MAX_PIN_SECONDS)


class _PinnedCommits:
    """The pinned commits of one repository. Calls `on_end` when all are released."""

    def __init__(self, references: References, on_end: Callable[[], object]) -> None:
        self._references = references
        self._on_end = on_end
        self._lock = threading.Lock()
        self._until: dict[str, float] = {}
        self._lease: Lease | None = None
        self._session: Any = None
        self._ended = False

    def add(self, spark: SparkSession, commit_ids: Iterable[str]) -> bool:
        """Pins more commits. Returns False if all commits have been released already."""
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
        self._on_end()
        if self._lease is not None:
            self._lease.end()

    def _add(self, commit_id: str) -> None:
        now = time.monotonic()
        until = {name: end for name, end in self._until.items() if end > now}
        is_new = commit_id not in until
        until.pop(commit_id, None)
        until[commit_id] = now + SESSION_PIN_SECONDS
        newest = dict(list(until.items())[-_MAX_COMMITS:])
        if not is_new or _try_pin(self._pin, list(newest)):
            self._until = newest

    def _pin(self, commit_ids: Sequence[str]) -> None:
        if self._lease is None:
            self._lease = Lease(self._references.new_pin(), commit_ids, is_needed=self._is_needed)
        else:
            self._lease.pin(commit_ids)

    def _is_needed(self) -> bool:
        with self._lock:
            now = time.monotonic()
            if _is_stopped(self._session) or all(end <= now for end in self._until.values()):
                self._ended = True
        if self._ended:
            self._on_end()
        return not self._ended


def _try_pin(pin: Callable[..., None], *args: Any) -> bool:
    """Returns whether commits were pinned. Warns if one has expired."""
    try:
        pin(*args)
    except Conflict as error:
        if error.kind != "commit_expired":
            raise
        warnings.warn(f"{error.message}: some of its objects may be missing", stacklevel=6)
        return False
    return True


def _is_stopped(spark: Any) -> bool:
    """Returns whether a session was stopped, for classic sessions and for Spark Connect."""
    stopped = getattr(spark, "is_stopped", None)
    if stopped is not None:
        return bool(stopped)
    context = getattr(spark, "_sc", None)
    return getattr(context, "_jsc", None) is None


_pinned: dict[_RepositoryKey, _PinnedCommits] = {}
_lock = threading.Lock()


def _pinned_commits(key: _RepositoryKey, references: References) -> _PinnedCommits:
    """Returns the record of the pinned commits of a repository; creates it if necessary."""

    def remove() -> None:
        with _lock:
            if _pinned.get(key) is new:
                del _pinned[key]

    with _lock:
        existing = _pinned.get(key)
        if existing is not None:
            return existing
        new = _pinned[key] = _PinnedCommits(references, remove)
    source, _ = key
    if not isinstance(source, Server):
        source.before_close(new.end)
    return new


@atexit.register
def _release_all() -> None:
    for commits in list(_pinned.values()):
        with suppress(Exception):  # pins expire
            commits.end()
