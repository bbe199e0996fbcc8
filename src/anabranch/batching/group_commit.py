"""Group commit: items of many threads that arrive during a commit share the next commit.

A commit costs one wait for the disk, however many items it holds. One thread at a time leads, which
means that it commits. A thread that finds no leader leads, with its own items. Threads that arrive
meanwhile wait; when the leader has committed, the first of them leads, with the items of all.
So no item is delayed to form a group, and no thread is woken in vain. Each item has its own
outcome.

A leader does not wait for other processes, because its own item may time out: when one of them
holds the lock, the writer thread leads. It also leads to make checkpoints, which no item waits for.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from anabranch.batching.contract import Checkpoints, CommitLock, NoCheckpoints, Unlocked
from anabranch.batching.order import note_place
from anabranch.batching.request import Request
from anabranch.batching.scheduler import batch
from anabranch.errors import Busy, OutcomeUnknown

__all__ = ["GroupCommit"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_CLOSE_TIMEOUT_SECONDS = 30.0
IDLE_SECONDS = 10.0


class GroupCommit(Generic[Item, Outcome]):
    """Gathers items of many threads into few commits. Safe for use from many threads.

    `commit` makes items durable and returns the outcome of each, in their order; one thread at a
    time calls it, and holds `lock` meanwhile. An exception that it raises concerns the whole group,
    so an error of a single item must be an outcome. `timeout_seconds` limits how long an item waits
    for the commits of other processes (None: without a limit). `name` is that of the writer thread,
    which is started when it is first needed and ends after `idle_seconds` without work.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Item]], Sequence[Outcome]],
        *,
        name: str,
        lock: CommitLock | None = None,
        checkpoints: Checkpoints | None = None,
        timeout_seconds: float | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._commit = commit
        self._name = name
        self._lock = lock or Unlocked()
        self._checkpoints = checkpoints or NoCheckpoints()
        self._timeout = -1.0 if timeout_seconds is None else timeout_seconds
        self._idle = idle_seconds
        self._state = threading.Condition(threading.Lock())
        self._waiting: deque[Request[Item, Outcome]] = deque()
        self._notes: list[Item] = []
        self._has_leader = False
        self._writer: threading.Thread | None = None
        self._writer_leads = False
        self._closed = False

    def submit(self, item: Item) -> Outcome:
        """Returns the outcome of an item once its commit is durable. Under a batch scheduler, the
        calls that wait for this group commit share a commit.

        Raises what `commit` raised; Busy: `closed` after `close`, `locked` when other processes
        held the lock for too long; OutcomeUnknown when another thread's exception ended the commit.
        """
        return batch(self.submit_all, item)

    def submit_all(self, items: Sequence[Item]) -> Sequence[Outcome]:
        """Returns the outcomes of several items of one thread, which share a commit."""
        with self._state:
            if self._closed:
                raise Busy("the store is closed", kind="closed")
            leads = not self._has_leader
            if leads:
                self._has_leader = True
            else:
                request = self._enqueue(items)
        note_place()
        if leads:
            try:
                is_locked = self._lock.try_acquire()
            except BaseException:
                with self._state:
                    self._choose_leader()
                raise
            if is_locked:
                return self._commit_own(items)
            with self._state:
                request = Request(items)
                self._waiting.appendleft(request)  # its place is that of the leader
                self._let_writer_lead()
        return self._await(request)

    def note(self, item: Item) -> None:
        """Adds an item to the next commit, without waiting for that or causing it; no caller
        learns its outcome.
        """
        with self._state:
            self._notes.append(item)

    def close(self) -> bool:
        """Refuses new items and waits until those in flight are done; returns whether they are."""
        with self._state:
            self._closed = True
            self._state.notify_all()
            writer = self._writer
            done = self._state.wait_for(lambda: not self._has_leader, _CLOSE_TIMEOUT_SECONDS)
        if done and writer is not None:
            writer.join()
        return done

    def _enqueue(self, items: Sequence[Item]) -> Request[Item, Outcome]:
        request: Request[Item, Outcome] = Request(items)
        self._waiting.append(request)
        return request

    def _commit_own(self, items: Sequence[Item]) -> Sequence[Outcome]:
        """Commits the items of the calling thread, which leads and holds the lock."""
        try:
            if self._notes:
                return self._commit_with_notes(items)
            return self._commit(items)
        finally:
            self._lock.release()
            with self._state:
                self._choose_leader()

    def _commit_with_notes(self, items: Sequence[Item]) -> Sequence[Outcome]:
        with self._state:
            notes, self._notes = self._notes, []
        return self._commit([*notes, *items])[len(notes) :]

    def _choose_leader(self) -> None:
        """Ends the caller's lead: the writer thread leads if a checkpoint is due, else the first
        waiting thread.
        """
        if self._checkpoints.needs_checkpoint():
            self._let_writer_lead()
        elif self._waiting:
            successor = self._waiting[0]
            successor.leads = True
            successor.wake()
        else:
            self._has_leader = False
            if self._closed:
                self._state.notify_all()

    def _let_writer_lead(self) -> None:
        self._writer_leads = True
        if self._writer is None:
            self._writer = threading.Thread(target=self._writer_loop, name=self._name, daemon=True)
            self._writer.start()
        else:
            self._state.notify_all()

    def _await(self, request: Request[Item, Outcome]) -> Sequence[Outcome]:
        """Returns the outcomes of a waiting request, after committing its group if it must lead."""
        while True:
            try:
                is_woken = request.wait(self._timeout)
                if not is_woken and not self._withdraw(request):
                    is_woken = request.wait()
                leads = request.leads
                is_locked = leads and self._lock.try_acquire()
            except BaseException:
                self._abandon(request)
                raise
            if not is_woken:
                raise Busy("the database is locked by another process", kind="locked")
            if is_locked:
                return self._commit_waiting(request)
            if not leads:
                break
            with self._state:
                request.leads = False
                self._let_writer_lead()
        if request.error is not None:
            # perhaps after it had been made: a signal that arrives meanwhile is raised at its end
            raise OutcomeUnknown("the commit was interrupted") from request.error
        return request.outcomes

    def _withdraw(self, request: Request[Item, Outcome]) -> bool:
        """Removes a request that has timed out; returns False if it is being committed or leads."""
        with self._state:
            if request.leads or request not in self._waiting:
                return False
            self._waiting.remove(request)
            return True

    def _abandon(self, request: Request[Item, Outcome]) -> None:
        """Removes a request whose thread is interrupted, or waits until it is committed."""
        if self._withdraw(request):
            return
        if not request.leads:
            if not request.is_woken:  # else the interrupted wait may have been the one for that
                request.wait()
            return
        with self._state:
            self._waiting.remove(request)
            self._choose_leader()

    def _commit_waiting(self, own: Request[Item, Outcome]) -> Sequence[Outcome]:
        """Commits the items of all waiting threads as their leader, which holds the lock; returns
        the outcomes of its own.
        """
        group: Sequence[Request[Item, Outcome]] = ()
        try:
            group = self._take_waiting()
            self._commit_group(group)
        finally:
            self._lock.release()
            for request in group:
                if request is not own:
                    request.wake()
            with self._state:
                self._choose_leader()
        return own.outcomes

    def _take_waiting(self) -> Sequence[Request[Item, Outcome]]:
        with self._state:
            group = tuple(self._waiting)
            self._waiting.clear()
        return group

    def _commit_group(self, group: Sequence[Request[Item, Outcome]]) -> None:
        """Commits the items of requests and sets their outcomes, or their error before raising."""
        items = [item for request in group for item in request.items]
        try:
            outcomes = self._commit_with_notes(items)
        except BaseException as error:
            for request in group:
                request.error = error
            raise
        first = 0
        for request in group:
            end = first + len(request.items)
            request.outcomes = outcomes[first:end]
            first = end

    def _writer_loop(self) -> None:
        """Runs the writer thread until it is idle or the group commit is closed."""
        while self._wait_to_lead():
            # while other processes commit, a waiting thread would only find the lock taken
            has_waited = True
            while has_waited:
                has_waited = bool(self._waiting) and self._commit_when_unlocked()
                if self._checkpoints.needs_checkpoint():
                    self._checkpoints.checkpoint()
            with self._state:
                self._writer_leads = False
                self._choose_leader()

    def _commit_when_unlocked(self) -> bool:
        """Commits the items of all waiting threads; returns whether it waited for other
        processes.
        """
        group: Sequence[Request[Item, Outcome]] = ()
        has_waited = False
        try:
            has_waited = not self._lock.try_acquire()
            if has_waited:
                self._lock.acquire()
            try:
                group = self._take_waiting()
                if group:  # empty if all have timed out meanwhile
                    self._commit_group(group)
            finally:
                self._lock.release()
        except BaseException as error:  # noqa: BLE001  raised in each of the threads
            group = group or self._take_waiting()
            for request in group:
                request.error = error
        for request in group:
            request.wake()
        return has_waited

    def _wait_to_lead(self) -> bool:
        """Waits until the writer thread leads; returns False when it must end."""
        with self._state:
            while not self._writer_leads:
                if self._closed or not self._state.wait(self._idle):
                    if self._writer_leads:
                        break
                    self._writer = None
                    return False
            return True
