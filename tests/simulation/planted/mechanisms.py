"""Planted faults above the stores: of commits, keys of requests, undo, hooks and workspaces."""

from __future__ import annotations

from typing import Any

from simulation.planted.plant import Plant, needs
from simulation.world import World

from anabranch.actions.hooked_change import HookedChange
from anabranch.rest.protocol.idempotency import RepeatedRequest
from anabranch.versioning.commits.staged_commits import CommitStaged
from anabranch.versioning.operations.logging_store import LoggingStore

__all__ = ["PLANTED"]

_OPERATIONS = "anabranch.versioning.operations"
_HOOKS = "anabranch-post-hooks"


def tree_of_a_refused_attempt(world: World) -> None:
    """A commit that was refused, since the branch has moved, is tried again with the same tree."""
    apply = CommitStaged._apply
    trees: dict[int, tuple[CommitStaged, Any]] = {}

    def apply_once(self: CommitStaged, *arguments: Any) -> Any:
        if id(self) not in trees:
            trees[id(self)] = self, apply(self, *arguments)
        return trees[id(self)][1]

    world.replace("anabranch.versioning.commits.staged_commits.CommitStaged._apply", apply_once)


def log_is_written_later(world: World) -> None:
    """The log of operations is written after the change, and not with it."""

    def apply(self: LoggingStore, writes, expect) -> bool:
        changed, conditions = self._changes(writes, expect)
        if not self._store.apply(writes, [*expect, *conditions]):
            return False
        for partition, (changes, settings) in changed.items():
            self._store.apply(self._records(partition, changes, settings))
        return True

    world.replace(f"{_OPERATIONS}.logging_store.LoggingStore._apply_logged", apply)


@needs("requests")
def forgotten_key(world: World) -> None:
    """The response to a request with a key is not recorded with what the request has changed."""
    keys = "anabranch.versioning.idempotency.IdempotencyKeys"
    world.replace(f"{keys}.recording", lambda *_arguments: ((), ()))


@needs("requests")
def key_of_another_body(world: World) -> None:
    """A key that was used for another request gets the response of that one."""
    recorded = RepeatedRequest.recorded

    def recorded_of_any(self: RepeatedRequest) -> Any:
        stored = self._keys.find(self._principal, self._key)
        if stored is not None:
            self._fingerprint = stored.response.fingerprint
        return recorded(self)

    world.replace("anabranch.rest.protocol.idempotency.RepeatedRequest.recorded", recorded_of_any)


@needs("requests")
def undo_of_what_has_changed(world: World) -> None:
    """Undo does not make sure that nothing has changed since."""

    def apply(self, plan, writes=(), expect=()) -> bool:
        return self._keyvalue.apply([*plan.writes, *writes], expect)

    world.replace(f"{_OPERATIONS}.undo.Undo.apply", apply)


@needs("requests")
def event_is_queued_later(world: World) -> None:
    """The hooks after a change are queued when it is made, and not with it."""
    writes_for, end = HookedChange.writes_for, HookedChange.end
    later: dict[int, list[Any]] = {}

    def without_event(self: HookedChange, result: object, /) -> Any:
        writes, expect = writes_for(self, result)
        later[id(self)] = [each for each in writes if each.partition == _HOOKS]
        return [each for each in writes if each.partition != _HOOKS], expect

    def queue_and_end(self: HookedChange) -> None:
        self._core.keyvalue.apply(later.pop(id(self), []))
        end(self)

    change = "anabranch.actions.hooked_change.HookedChange"
    world.replace(f"{change}.writes_for", without_event)
    world.replace(f"{change}.end", queue_and_end)


@needs("requests")
def keys_outlive_their_branch(world: World) -> None:
    """A workspace is not removed with its branch, so that its keys reach the next of its name."""
    workspaces = "anabranch.versioning.references.workspaces.Workspaces"
    world.replace(f"{workspaces}.removal", lambda *_arguments: [])


PLANTED: tuple[Plant, ...] = (
    tree_of_a_refused_attempt,
    log_is_written_later,
    forgotten_key,
    key_of_another_body,
    undo_of_what_has_changed,
    event_is_queued_later,
    keys_outlive_their_branch,
)
