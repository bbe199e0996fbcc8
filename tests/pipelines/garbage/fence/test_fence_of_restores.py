"""Restores of references, and writes of commit records, during a sweep of their objects."""

from __future__ import annotations

import itertools
import random

import msgspec
import pytest
from support.garbage import addresses
from support.session.sizes import sized
from support.stepped_scenario import Scenario

from anabranch.errors import Conflict, Gone

REFUSALS = {"sweep_under_way", "swept_meanwhile", "commit_expired"}


class RestoreCase:
    """A repository with an expired commit, and a dump from when a branch pointed at that commit.
    The dump is restored in a bare repository with the same namespace.
    """

    def __init__(self, folder):
        folder.mkdir()
        self.scenario = Scenario(folder)
        self.lake = lake = self.scenario.lake
        lake.branches.create("sea", "kept", self.scenario.expired)
        self.dump = lake.refs_dumps.dump("sea")
        lake.branches.delete("sea", "kept")
        lake.repositories.create("copy", "mem://sea", bare=True)
        self.outcomes = []

    def restore(self):
        """Restores the dump, and records whether the object is readable after that."""
        try:
            self.lake.refs_dumps.restore("copy", self.dump)
        except Conflict as error:
            self.outcomes.append("refused" if error.kind in REFUSALS else error.kind)
        else:
            self.outcomes.append("readable" if self.readable("copy", "kept") else "gone")

    def create_record(self):
        """Creates another commit with the tree of the expired one, and a branch at it."""
        expired = self.lake.commits.get("sea", self.scenario.expired)
        record = self.lake.core.commits.make(
            committer="me",
            message="Again",
            metarange_id=expired.metarange_id,
            metadata={},
            parents=[expired],
        )
        try:
            self.lake.commits.create_record("sea", msgspec.structs.replace(record, nanos=0))
            self.lake.branches.create("sea", "again", record.id)
        except Conflict as error:
            self.outcomes.append("refused" if error.kind in REFUSALS else error.kind)
        else:
            self.outcomes.append("readable" if self.readable("sea", "again") else "gone")

    def readable(self, repository, branch):
        try:
            return self.lake.objects.open(repository, branch, "old").read_bytes() == b"old"
        except Gone:
            return False

    def check(self):
        """Requires that the object is still readable if it was readable after the act."""
        if self.outcomes == ["readable"]:
            places = [
                (repository, branch.id)
                for repository in ("copy", "sea")
                for branch in self.lake.branches.list(repository, amount=10).items
                if branch.id in ("kept", "again")
            ]
            assert places
            assert all(self.readable(*place) for place in places)


@pytest.mark.parametrize("act", [RestoreCase.restore, RestoreCase.create_record])
@pytest.mark.parametrize("stride", [sized(25, weekly=7), pytest.param(1, marks=pytest.mark.slow)])
def test_restore_at_any_step_of_a_sweep_is_refused_or_keeps_its_objects(act, stride, tmp_path):
    outcomes = set()
    for number in itertools.count(0, stride):
        case = RestoreCase(tmp_path / str(number))
        with case.lake, case.scenario.mark() as run:
            assert case.scenario.object in addresses(run.candidates())
            case.scenario.steps.arm(number, lambda case=case: act(case))
            run.sweep()
            if not case.outcomes:
                break
            case.check()
            outcomes.update(case.outcomes)
    assert number > 10
    assert outcomes == {"readable", "refused"}


@pytest.mark.parametrize("act", [RestoreCase.restore, RestoreCase.create_record])
@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_interleaved_restores_and_sweeps_lose_no_object(act, rounds, tmp_path, seed):
    chance = random.Random(seed)
    outcomes = set()
    for number in range(rounds):
        case = RestoreCase(tmp_path / str(number))
        with case.lake, case.scenario.mark() as run:
            case.scenario.steps.take_turns(chance, [run.sweep, lambda case=case: act(case)])
            case.check()
            outcomes.update(case.outcomes)
    assert outcomes <= {"readable", "refused"}
