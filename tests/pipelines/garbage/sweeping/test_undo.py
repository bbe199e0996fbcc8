"""What operations can bring back is kept by collections, until the days for undo are over: also if
it is brought back at any step of a sweep.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from support.garbage import DAY, commit, put, stored
from support.stepped_scenario import Scenario

from anabranch.errors import AnabranchError, CommitExpired, Conflict, NotFound

STEPS = 200
"""The number of operations on the stores that a collection of these objects takes, at most."""


def let_go(lake):
    """Deletes a branch and a tag, moves `side` back, and resets a prefix of it, then all of it;
    returns the addresses of the objects that are then in no branch and in no tag.
    """
    lake.branches.create("sea", "lost", "main")
    gone = [put(lake, "lost/committed", "lost", body=b"lost/committed")]
    commit(lake, "lost")
    gone.append(put(lake, "lost/staged", "lost", body=b"lost/staged"))
    gone.append(put(lake, "tagged", "side", body=b"tagged"))
    commit(lake, "side")
    lake.tags.create("sea", "v1", "side")
    lake.branches.hard_reset("sea", "side", "side~1")
    gone.append(put(lake, "reset", "side", body=b"reset"))
    gone.append(put(lake, "some/reset", "side", body=b"some/reset"))
    lake.branches.reset("sea", "side", "common_prefix", "some/")
    lake.branches.delete("sea", "lost")
    lake.tags.delete("sea", "v1")
    lake.branches.reset("sea", "side", "reset")
    return gone


def bring_back(lake):
    """Undoes everything that `let_go` did last."""
    for reset_tag_branch_prefix in range(4):  # noqa: B007  each undoes the one before
        lake.operations.undo("sea")


def references_changed(lake):
    """Returns the operations that have changed branches or tags."""
    return [each for each in lake.operations.list("sea", amount=100).items if each.changes]


def unreadable(scenario):
    """Returns those of the objects that came back which are not what was put there."""
    places = (("lost", "lost/committed"), ("lost", "lost/staged"), ("v1", "tagged"))
    return [
        path
        for reference, path in (*places, ("side", "reset"), ("side", "some/reset"))
        if not scenario.readable(reference, path)
    ]


@pytest.fixture
def scenario(tmp_path):
    scenario = Scenario(tmp_path, undo_days=30)
    with scenario.lake:
        scenario.gone = let_go(scenario.lake)
        yield scenario


def test_what_can_be_undone_is_kept_and_comes_back(scenario):
    scenario.clock.advance(20 * DAY)
    before = stored(scenario.lake, "mem://sea/data")
    scenario.sweep()
    assert stored(scenario.lake, "mem://sea/data") < before  # it removes what nothing needs
    bring_back(scenario.lake)
    assert unreadable(scenario) == []


def test_all_references_are_restored_after_a_collection(scenario):
    lake = scenario.lake
    # the tag was created after the commit of `side` and before the branch moved back
    (tagged,) = [
        each
        for each in references_changed(lake)
        if each.changes[0].name == "v1" and each.changes[0].before is None
    ]
    scenario.clock.advance(20 * DAY)
    scenario.sweep()
    lake.operations.restore("sea", tagged.id)
    for reference, path in (("lost", "lost/staged"), ("v1", "tagged"), ("side", "tagged")):
        assert scenario.readable(reference, path), path


@pytest.mark.parametrize("days", [0, 10, 31])
def test_what_can_no_longer_be_undone_is_removed(scenario, days):
    if days < 31:
        scenario.lake.operations.set_undo_days("sea", days)
    scenario.clock.advance(days * DAY + 2 * DAY)
    scenario.sweep()
    kept = stored(scenario.lake, "mem://sea/data")
    assert not {address.removeprefix("data/") for address in scenario.gone} & kept
    with pytest.raises((Conflict, NotFound)):
        scenario.lake.operations.undo("sea")
    with pytest.raises((Conflict, NotFound)):
        scenario.lake.operations.restore_branch("sea", "lost")


def test_history_that_the_rules_let_go_does_not_come_back(scenario):
    """`main` had the object `old`, and the rules keep replaced commits for a day."""
    lake = scenario.lake
    moves = [each for each in references_changed(lake) if each.changes[0].name == "main"]
    assert moves[1].changes[0].before.commit_id == scenario.expired
    scenario.sweep()
    lake.operations.undo("sea", moves[0].id)
    with pytest.raises(CommitExpired):
        lake.operations.undo("sea", moves[1].id)
    with pytest.raises(CommitExpired):
        lake.operations.restore("sea", moves[2].id)
    assert lake.branches.get("sea", "main").commit_id == scenario.removal


def test_an_operation_that_is_given_up_keeps_nothing(scenario):
    lake = scenario.lake
    (deleted,) = [
        each
        for each in references_changed(lake)
        if each.changes[0].name == "lost" and each.changes[0].after is None
    ]
    assert lake.operations.give_up("sea", deleted.id).given_up_at == scenario.clock()
    scenario.clock.advance(2 * DAY)
    scenario.sweep()
    kept = stored(lake, "mem://sea/data")
    gone = [address.removeprefix("data/") for address in scenario.gone]
    assert [address in kept for address in gone] == [False, False, True, True, True]
    with pytest.raises(Conflict, match="given up"):
        lake.operations.undo("sea", deleted.id)
    assert lake.operations.get("sea", deleted.id).changes[0].discarded == ()


@pytest.mark.sample(2)
@pytest.mark.parametrize("number", range(STEPS))
@pytest.mark.parametrize("days", [20, 30])
def test_undo_at_any_step_of_a_collection_brings_back_what_can_be_read(scenario, number, days):
    """After 30 days, each operation comes back with its objects, or not at all."""
    scenario.clock.advance(days * DAY - 5)
    undone = []

    def undo():
        if days == 30:
            scenario.clock.advance(10)
        with suppress(AnabranchError):
            bring_back(scenario.lake)
            undone.append(True)

    scenario.steps.arm(number, undo)
    scenario.sweep()
    if days == 20:
        assert undone or scenario.steps.left >= 0
    if undone:
        assert unreadable(scenario) == []


def test_steps_of_a_collection_are_those_that_undo_is_tried_at(scenario):
    scenario.steps.arm(10 * STEPS, lambda: None)
    scenario.sweep()
    assert STEPS - 20 < scenario.steps.count <= STEPS
