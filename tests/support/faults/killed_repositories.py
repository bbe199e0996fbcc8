"""What is killed at each step: undo, expiry, the deletion and restoration of repositories."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anabranch.errors import NotFound
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.library import Lake
from anabranch.model.references.operation import BranchChanged, LoggedOperation, ReferenceChanged
from anabranch.model.repositories.retention import RetentionRules
from anabranch.testing.lake import Clock, lake_in
from support.faults.killed_steps import main

__all__ = ["ACTIONS", "Repositories"]

_NOW = 1_700_000_000
_LATER = {"expire": 61, "compact": 31 * 86_400}


def _put(lake: Lake, repository: str, branch: str, *paths: str) -> None:
    for path in paths:
        lake.objects.upload(repository, branch, path, [path.encode()])


def _fill(lake: Lake, name: str) -> None:
    lake.repositories.create(name, f"local://{name}")
    _put(lake, name, "main", "a")
    lake.commits.commit(name, "main", message="m", committer="ada")
    _put(lake, name, "main", "staged")
    lake.tags.create(name, "v1", "main")
    lake.branches.create(name, "ends", "main", expires_at=_NOW + 60)
    _put(lake, name, "ends", "on-ends")
    lake.branches.create(name, "gone", "main")
    _put(lake, name, "gone", "on-gone")
    lake.branches.delete(name, "gone")
    lake.branches.create(name, "some", "main")
    _put(lake, name, "some", "p/1", "p/2", "q")
    lake.branches.reset(name, "some", "common_prefix", "p/")
    _put(lake, name, "some", "r/1", "r/2")
    lake.branches.create(name, "dev", "main")
    _put(lake, name, "dev", "d")
    lake.commits.commit(name, "dev", message="d", committer="ada")
    lake.branches.create(name, "into", "main")
    pull = lake.pulls.create(name, title="P", source="dev", destination="into", author="ada")
    lake.pulls.merge(name, pull.id, committer="ada")
    lake.garbage_rules.set(name, RetentionRules(7))


def _operation(lake: Lake, is_it: Callable[[LoggedOperation], bool]) -> str:
    for each in reversed(lake.operations.list("sea", amount=100).items):
        if is_it(each):
            return each.id
    raise NotFound("there is no such operation")


def _first(each: LoggedOperation) -> ReferenceChanged | None:
    return each.changes[0] if each.changes else None


def _is_deletion(each: LoggedOperation) -> bool:
    change = _first(each)
    return change is not None and change.name == "gone" and change.after is None


def _is_creation(each: LoggedOperation) -> bool:
    change = _first(each)
    return change is not None and change.name == "dev" and change.before is None


def _is_merge(each: LoggedOperation) -> bool:
    return bool(each.changes) and any(one.kind == "pull_request" for one in each.settings)


def _is_reset_of_prefix(each: LoggedOperation) -> bool:
    change = _first(each)
    return isinstance(change, BranchChanged) and change.is_of_some_paths


def _undo(lake: Lake, is_it: Callable[[LoggedOperation], bool]) -> object:
    return lake.operations.undo("sea", _operation(lake, is_it))


ACTIONS: dict[str, Callable[[Lake], object]] = {
    "undo a deletion": lambda lake: _undo(lake, _is_deletion),
    "undo a merge": lambda lake: _undo(lake, _is_merge),
    "undo a reset of a prefix": lambda lake: _undo(lake, _is_reset_of_prefix),
    "reset a prefix": lambda lake: lake.branches.reset("sea", "some", "common_prefix", "r/"),
    "restore all": lambda lake: lake.operations.restore("sea", _operation(lake, _is_creation)),
    "expire": lambda lake: lake.expiry.delete_due(),
    "compact": lambda lake: lake.operations.compact(),
    "delete a repository": lambda lake: lake.repositories.delete("sea"),
    "restore a repository": lambda lake: lake.repositories.restore("lost"),
    "forget a repository": lambda lake: lake.repositories.forget("lost"),
}


def _content(lake: Lake, repository: str, reference: str) -> dict[str, str]:
    items: list[Any] = list(lake.objects.listing(repository, reference, amount=100).items)
    return {
        each.path: lake.objects.open(repository, reference, each.path).read_bytes().decode()
        for each in items
    }


def _repository_state(lake: Lake, name: str) -> dict[str, object]:
    stored = lake.core.repositories.get(name)
    branches = lake.branches.list(name, amount=100, show_hidden=True).items
    operations = list(lake.core.operation_log.all(stored))
    # what the log says that it keeps is there
    kept = [
        sorted(key.decode() for token in each.discarded for key, _ in lake.keyvalue.scan(token))
        for each in operations
        if each.discarded
    ]
    return {
        "branches": {each.id: _content(lake, name, each.id) for each in branches},
        "changes": {
            each.id: [c.path for c in lake.branches.changes(name, each.id, amount=100).items]
            for each in branches
        },
        "tags": {each.id: each.commit_id for each in lake.tags.list(name, amount=100).items},
        "pulls": [str(each.status) for each in lake.pulls.list(name, amount=100).items],
        "kept": sorted(kept),
        "undone": sum(1 for each in operations if each.undone_at),
        "given up": sum(1 for each in operations if each.given_up_at),
    }


class Repositories:
    """Two repositories, of which one is deleted."""

    def prepare(self, folder: Path, store: KeyValueStore) -> None:
        """Makes them."""
        with lake_in(folder, Clock(_NOW), store) as lake:
            for name in ("sea", "lost"):
                _fill(lake, name)
            lake.repositories.delete("lost")

    def act(self, folder: Path, store: KeyValueStore, action: str) -> None:
        """Does an action."""
        with lake_in(folder, Clock(_NOW + _LATER.get(action, 0)), store) as lake:
            ACTIONS[action](lake)

    def state(self, folder: Path, store: KeyValueStore, action: str) -> object:
        """Returns what is there."""
        with lake_in(folder, Clock(_NOW + _LATER.get(action, 0)), store) as lake:
            live = [each.id for each in lake.repositories.list(amount=100).items]
            deleted = [each.repository.id for each in lake.repositories.deleted()]
            return {
                "live": {each: _repository_state(lake, each) for each in live},
                "deleted": deleted,
            }


if __name__ == "__main__":
    main(Repositories(), *sys.argv[1:])
