"""What others do between any two steps of a purge: nothing acknowledged and readable is lost.

Each act is done ahead of each step on the stores, one after the other. The property is that of
garbage collection: an object that is readable after a reference was created stays readable.
"""

import random
from contextlib import suppress

import pytest
from support.session.sizes import sized
from support.stepped_scenario import Steps

from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import AnabranchError
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.pipelines.purges.purge import purge_namespace
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks, FaultyStore


class Killed(BaseException):
    """The process ends."""


class Case:
    """A deleted repository `sea`, whose data are purged, and another one, `other`."""

    def __init__(self, folder):
        self.steps, self.clock = Steps(), Clock()
        self.lake = Lake(
            FaultyStore(MemoryStore(), self.steps),
            FaultyBlocks(MemoryBlocks(clock=self.clock), self.steps),
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=self.clock,
        )
        self.lake.repositories.create("sea", "mem://sea")
        self.lake.repositories.create("other", "mem://other")
        for path in ("a", "b"):
            self.lake.objects.upload("sea", "main", path, [path.encode()])
        self.address = self.lake.objects.stat("sea", "main", "a").physical_address
        self.lake.commits.commit("sea", "main", message="m", committer="ada")
        self.lake.objects.upload("other", "main", "own", [b"own"])
        self.lake.repositories.delete("sea")
        (self.left,) = self.lake.purges.left()
        self.promises = {("other", "own"): b"own"}
        """What must be readable at the end."""

    def purge(self):
        return purge_namespace(
            *(self.lake.core, self.lake.blocks, self.left, lambda: self.left),
            advance=lambda _: None,
            clock=self.clock,
        )

    def promise(self, repository, path, body):
        """Records an acknowledged object, if it is readable now."""
        if self.read(repository, path) == body:
            self.promises[repository, path] = body

    def read(self, repository, path):
        with suppress(AnabranchError):
            return self.lake.objects.open(repository, "main", path).read_bytes()
        return None

    def check(self):
        for (repository, path), body in self.promises.items():
            assert self.read(repository, path) == body, (repository, path)


def stage(case):
    case.lake.staging.stage("other", "main", "x", address=case.address, checksum="0" * 32, size=1)
    case.promise("other", "x", b"a")


def stage_and_commit(case):
    stage(case)
    case.lake.commits.commit("other", "main", message="m", committer="ada")


def create(case):
    case.lake.repositories.create("again", "mem://sea")
    case.lake.objects.upload("again", "main", "new", [b"new"])
    case.promise("again", "new", b"new")


def create_inside(case):
    case.lake.repositories.create("inner", "mem://sea/data/x")
    case.lake.objects.upload("inner", "main", "new", [b"new"])
    case.promise("inner", "new", b"new")


def upload_elsewhere(case):
    case.lake.objects.upload("other", "main", "more", [b"more"])
    case.lake.commits.commit("other", "main", message="m", committer="ada")
    case.promise("other", "more", b"more")


def restore(case):
    case.lake.repositories.restore("sea")
    case.promise("sea", "a", b"a")


def purge_too(case):
    case.purge()


# of the steps some each time, all once a week
STRIDES = (sized(11, weekly=3), pytest.param(1, marks=pytest.mark.slow))
ACTS = (stage, stage_and_commit, create, create_inside, upload_elsewhere, restore, purge_too)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.sample(1)
def test_act_before_any_step_loses_nothing(act, stride, tmp_path):
    number, outcomes = 0, set()
    while True:
        case = Case(tmp_path / str(number))
        done = []

        def attempt(case=case, done=done):
            done.append("refused")
            with suppress(AnabranchError):
                act(case)
                done[0] = "done"

        with case.lake:
            case.steps.arm(number, attempt)
            try:
                case.purge()
                outcomes.add("purged")
            except AnabranchError as error:
                outcomes.add(error.kind)
            case.steps.arm(-1, lambda: None)
            outcomes.update(done)
            case.check()
        if not done:
            break
        number += stride
    assert number > 20
    assert "purged" in outcomes


@pytest.mark.parametrize("stride", STRIDES)
def test_purge_killed_at_any_step_is_completed_by_the_next(stride, tmp_path):
    number = 0
    while True:
        case = Case(tmp_path / str(number))
        killed = []

        def kill(killed=killed):
            killed.append(True)
            raise Killed

        with case.lake:
            case.steps.arm(number, kill)
            with suppress(Killed):
                case.purge()
            case.steps.arm(-1, lambda: None)
            if killed and case.lake.purges.left():
                case.purge()
            names = [block.address for block in case.lake.blocks.list("mem://sea/")]
            assert names == []
            assert case.lake.purges.left() == []
            case.check()
            case.clock.advance(5 * 3600)
            create(case)
            case.check()
        if not killed:
            break
        number += stride
    assert number > 20


@pytest.mark.parametrize("rounds", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_interleaved_purges_and_acts_lose_nothing(rounds, tmp_path, seed):
    chance = random.Random(seed)
    for number in range(rounds):
        case = Case(tmp_path / str(number))
        # commits of one branch wait for each other, which actors of one thread cannot
        actors = chance.choices([stage, create, create_inside, restore, Case.purge], k=3)

        def attempt(act, case=case):
            with suppress(AnabranchError):
                act(case)

        with case.lake:
            case.steps.take_turns(
                chance, [lambda act=act, run=attempt: run(act) for act in (Case.purge, *actors)]
            )
            case.check()
