"""Planted faults of moves of prefixes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
from simulation.planted.plant import Plant, needs
from simulation.world import World

from anabranch.keyvalue.contract import Write
from anabranch.versioning.records import keys
from anabranch.versioning.transfers.area import (
    BranchChangedError,
    Source,
    TransferAreas,
    branch_snapshot,
)
from anabranch.versioning.transfers.transfers import Transfers

__all__ = ["PLANTED"]

_TRANSFERS = "anabranch.versioning.transfers"


@needs("moves")
def move_above_later_writes(world: World) -> None:
    """A move takes effect above what was written while it read."""
    world.replace(f"{_TRANSFERS}.area.TransferAreas.insert", _inserting_on_top(checks=True))


@needs("moves")
def move_of_what_was_committed(world: World) -> None:
    """A move does not make sure that the branch was not committed while it read."""
    world.replace(f"{_TRANSFERS}.area.TransferAreas.insert", _inserting_on_top(checks=False))


@needs("moves")
def move_in_two_steps(world: World) -> None:
    """A move copies the objects, and then removes them."""
    repeat = Transfers._repeat

    def copy_and_remove(
        self: Transfers, repository: Any, branch: str, origin: Any, prefixes: Any, **options: bool
    ) -> int:
        removes = options.pop("remove")
        count = repeat(self, repository, branch, origin, prefixes, remove=False, **options)
        stored = self._committer.seal(repository, branch)
        token = self._identifiers.staging_token(repository.id, branch)
        with suppress(BranchChangedError):
            if removes:
                source = Source(repository, branch_snapshot(stored))
                self._areas.write_removal(token, source, prefixes.source)
                self._areas.insert(repository, stored, token, ())
        return count

    world.replace(f"{_TRANSFERS}.transfers.Transfers._repeat", copy_and_remove)


def _inserting_on_top(*, checks: bool) -> Any:
    def insert(self: TransferAreas, repository: Any, before: Any, token: str, expect: Any) -> None:
        for stored in self._branches.attempts(repository, before.branch.id):
            branch = stored.branch
            is_same = branch.commit_id == before.branch.commit_id
            if checks and not (is_same and branch.tokens[1:] == before.branch.sealed_tokens):
                raise BranchChangedError
            tokens = (branch.staging_token, token) if not checks else (token, branch.staging_token)
            changed = msgspec.structs.replace(
                branch, staging_token=tokens[0], sealed_tokens=(tokens[1], *branch.sealed_tokens)
            )
            visible = Write(keys.CLEANUP, token.encode(), None)
            writes = [self._branches.write(repository, changed), visible]
            if self._branches.apply(repository, stored, writes, expect):
                return

    return insert


PLANTED: tuple[Plant, ...] = (
    move_above_later_writes,
    move_of_what_was_committed,
    move_in_two_steps,
)
