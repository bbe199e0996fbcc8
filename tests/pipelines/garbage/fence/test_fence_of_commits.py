"""References to commits that move from one branch or tag to another while a sweep reads them."""

from __future__ import annotations

import msgspec
import pytest
from support.garbage import addresses
from support.stepped_scenario import Scenario

from anabranch.brevity import TakesLong, brief
from anabranch.errors import CommitExpired, Conflict
from anabranch.versioning.garbage.pins import PIN_SECONDS
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS


@pytest.fixture
def scenario(tmp_path):
    scenario = Scenario(tmp_path)
    with scenario.lake:
        yield scenario


def test_reference_that_moves_in_step_with_the_passes_keeps_its_objects(scenario, monkeypatch):
    """The reference is a tag while branches are read, and a branch while tags are read."""
    lake, moves, moving = scenario.lake, ["branch"], []

    def to_tag():
        lake.tags.create("sea", "moving", scenario.expired)
        lake.branches.delete("sea", "moves")

    def to_branch():
        lake.branches.create("sea", "moves", scenario.expired)
        lake.tags.delete("sea", "moving")

    def move_ahead_of(read, kind, move):
        def moved(repository):
            swept = not moving and lake.core.sweeps.running()[0]
            if repository.id == "sea" and swept and moves[-1] != kind:
                moving.append(kind)
                move()
                moves.append(moving.pop())
            return list(read(repository))

        return moved

    with scenario.mark() as run:
        assert scenario.object in addresses(run.candidates())
        lake.branches.create("sea", "moves", scenario.expired)
        for references, kind, move in (
            (lake.core.branches, "tag", to_tag),
            (lake.core.tags, "branch", to_branch),
        ):
            monkeypatch.setattr(references, "all", move_ahead_of(references.all, kind, move))
        run.sweep()
        monkeypatch.undo()
    assert len(moves) > 3
    reference = "moves" if moves[-1] == "branch" else "moving"
    assert scenario.readable(reference, "old")


def test_pins_of_references_expire_after_a_sweep(scenario):
    with scenario.mark() as run:
        scenario.steps.arm(20, lambda: scenario.lake.tags.create("sea", "v1", "main"))
        run.sweep()
    ((key, _),) = scenario.lake.keyvalue.scan("anabranch-pins")
    assert key.decode().endswith(scenario.lake.tags.get("sea", "v1").commit_id)
    scenario.clock.advance(2 * PIN_SECONDS + CLOCK_SKEW_SECONDS + 1)
    scenario.lake.core.pins.clean()
    assert list(scenario.lake.keyvalue.scan("anabranch-pins")) == []


def test_refused_reference_leaves_no_pin(scenario):
    refused = []

    def refer():
        with pytest.raises(CommitExpired) as error:
            scenario.lake.tags.create("sea", "v1", scenario.expired)
        refused.append((error.value.kind, error.value.removed))

    with scenario.mark() as run:
        scenario.steps.arm(20, refer)
        run.sweep()
    assert refused == [("commit_expired", False)]
    assert list(scenario.lake.keyvalue.scan("anabranch-pins")) == []


def test_a_swept_commit_is_compared_with_what_is_stored_where_that_may_take_long(scenario):
    scenario.sweep()
    with brief():
        scenario.lake.tags.create("sea", "v1", "main")
        with pytest.raises(TakesLong):
            scenario.lake.tags.create("sea", "v2", scenario.expired)
    with pytest.raises(CommitExpired):
        scenario.lake.tags.create("sea", "v2", scenario.expired)


def test_references_to_one_commit_share_a_pin_and_renew_it(scenario):
    scenario.lake.core.sweeps.begin("s" * 20)
    until = []
    for number in range(4):
        scenario.lake.tags.create("sea", f"v{number}", "main")
        ((_, record),) = scenario.lake.keyvalue.scan("anabranch-pins")
        until.append(msgspec.json.decode(record)["until"] - int(scenario.clock()))
        scenario.clock.advance(PIN_SECONDS - 1)
    assert until == [2 * PIN_SECONDS, PIN_SECONDS + 1, 2 * PIN_SECONDS, PIN_SECONDS + 1]


def test_unchecked_pin_admits_no_expired_commit(scenario):
    """The writer of the pin was killed before it checked whether the commit had expired."""

    class Killed(BaseException):
        pass

    def killed():
        raise Killed

    scenario.lake.core.sweeps.begin("s" * 20)
    repository = scenario.lake.core.repositories.get("sea")
    for number in range(2, 20):
        scenario.steps.arm(number, killed)
        try:
            scenario.lake.core.pins.admit_commits(repository, [scenario.expired])
        except (Killed, Conflict):
            scenario.steps.arm(-1, lambda: None)
        with pytest.raises(Conflict):
            scenario.lake.tags.create("sea", "v1", scenario.expired)
