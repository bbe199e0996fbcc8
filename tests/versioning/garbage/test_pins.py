"""Pins: commits that keep their objects for a time, also after a crash of the holder."""

from __future__ import annotations

import pytest
from support.garbage import DAY, commit, put

from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Busy, Conflict, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyStore
from anabranch.versioning.garbage.pins import MAX_PIN_SECONDS, PIN_SECONDS
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

NAME = "a-pin-of-sixteen-letters"


class Scenario:
    """A repository with a head, and a commit that has expired."""

    def __init__(self, folder):
        self.clock = Clock()
        self.keyvalue = FaultyStore(MemoryStore(), lambda _operation, _subject: None)
        self.lake = Lake(
            self.keyvalue,
            MemoryBlocks(clock=self.clock),
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=self.clock,
        )
        self.lake.repositories.create("sea", "mem://sea")
        self.lake.garbage_rules.set("sea", RetentionRules(1))
        put(self.lake, "a", body=b"1")
        commit(self.lake)
        put(self.lake, "a", body=b"2")
        self.old = commit(self.lake).id
        put(self.lake, "a", body=b"3")
        self.head = commit(self.lake).id
        self.clock.advance(3 * DAY)
        put(self.lake, "a", body=b"4")
        commit(self.lake)
        self.pins = self.lake.core.pins
        self.repository = self.lake.core.repositories.get("sea")

    @property
    def pinned(self):
        return self.pins.commits(self.repository)

    @property
    def records(self):
        return list(self.keyvalue.scan("anabranch-pins"))


@pytest.fixture
def scenario(tmp_path):
    scenario = Scenario(tmp_path)
    with scenario.lake:
        yield scenario


def test_a_pin_holds_by_any_clock_and_then_ends(scenario):
    pin = scenario.pins.pin(scenario.repository, [scenario.head])
    scenario.clock.advance(PIN_SECONDS + CLOCK_SKEW_SECONDS - 1)
    assert scenario.pinned == {scenario.head}
    scenario.clock.advance(1)
    assert scenario.pinned == set()
    with pytest.raises(Conflict) as lost:
        scenario.pins.renew(pin)
    assert lost.value.kind == "pin_lost"
    assert lost.value.hint


def test_a_pin_that_ended_and_that_no_collection_met_is_renewed(scenario):
    pin = scenario.pins.pin(scenario.repository, [scenario.head])
    scenario.clock.advance(DAY)
    scenario.pins.renew(pin)
    assert scenario.pinned == {scenario.head}


def test_a_renewal_whose_answer_was_lost_is_made_again(scenario):
    pin = scenario.pins.pin(scenario.repository, [scenario.head])
    scenario.clock.advance(5)
    scenario.pins.renew(pin)  # the one whose answer was lost
    scenario.clock.advance(5)
    renewed = scenario.pins.renew(pin)
    assert scenario.pins.renew(renewed) == renewed


def test_two_pins_of_one_commit_are_two(scenario):
    one, two = (scenario.pins.pin(scenario.repository, [scenario.head]) for _ in range(2))
    scenario.pins.release(one)
    scenario.pins.release(one)
    assert scenario.pinned == {scenario.head}
    scenario.pins.renew(two)
    with pytest.raises(Conflict):
        scenario.pins.renew(one)


def test_a_named_pin_is_written_again_and_never_ends_earlier(scenario):
    for seconds in (MAX_PIN_SECONDS, 1):
        scenario.pins.pin(scenario.repository, [scenario.head], name="x", seconds=seconds)
        scenario.pins.renew(scenario.pins.by_name(scenario.repository, "x"), 1)
    scenario.clock.advance(CLOCK_SKEW_SECONDS + MAX_PIN_SECONDS - 1)
    assert scenario.pinned == {scenario.head}
    scenario.pins.pin(scenario.repository, [scenario.old], name="x")
    assert scenario.pinned == {scenario.old}
    assert len(scenario.records) == 1


def test_an_expired_commit_is_refused_during_a_sweep_and_the_pin_is_as_it_was(scenario):
    scenario.pins.pin(scenario.repository, [scenario.head], name="x")
    before = scenario.records
    scenario.lake.core.sweeps.begin("s")
    with pytest.raises(Conflict) as refused:
        scenario.pins.pin(scenario.repository, [scenario.head, scenario.old], name="x")
    assert refused.value.kind == "commit_expired"
    with pytest.raises(Conflict):
        scenario.pins.pin(scenario.repository, [scenario.old])
    assert scenario.records == before
    scenario.pins.pin(scenario.repository, [scenario.head], name="x", seconds=MAX_PIN_SECONDS)
    scenario.lake.core.sweeps.end("s")
    scenario.pins.pin(scenario.repository, [scenario.old], name="x")
    scenario.lake.core.sweeps.begin("s")
    scenario.pins.pin(
        scenario.repository, [scenario.old], name="x"
    )  # it is pinned: nothing was removed


def test_pins_that_have_ended_are_removed_without_a_collection(scenario):
    scenario.pins.pin(scenario.repository, [scenario.head], seconds=1)
    scenario.pins.pin(scenario.repository, [scenario.head], seconds=MAX_PIN_SECONDS)
    scenario.clock.advance(CLOCK_SKEW_SECONDS + 1)
    scenario.pins.clean()
    assert len(scenario.records) == 1


def test_a_pin_that_others_change_meanwhile(scenario):
    pin = scenario.pins.pin(scenario.repository, [scenario.head], name="x")

    def other(operation, subject):
        if (operation, subject) == ("apply", "anabranch-pins"):
            scenario.keyvalue.before = lambda *_: None
            scenario.clock.advance(1)
            scenario.pins.renew(pin)

    scenario.keyvalue.before = other
    scenario.pins.pin(scenario.repository, [scenario.old], name="x")
    assert scenario.pinned == {scenario.old}
    scenario.keyvalue.before = other
    scenario.pins.renew(pin)
    assert scenario.pinned == {scenario.old}


def test_what_a_client_may_not_ask_for(scenario):
    pins = scenario.lake.pins
    wrong = [
        (NAME, [scenario.head], 0),
        (NAME, [scenario.head], -1),
        (NAME, [scenario.head], MAX_PIN_SECONDS + 1),
        (NAME, [], 60),
        (NAME, [scenario.head] * 1001, 60),
        ("short", [scenario.head], 60),
        (NAME + "/x", [scenario.head], 60),
        (NAME.upper(), [scenario.head], 60),
        ("x" * 97, [scenario.head], 60),
        (NAME + "\n", [scenario.head], 60),
    ]
    for name, commits, seconds in wrong:
        with pytest.raises(Invalid) as refused:
            pins.put("sea", "me", name, commits, seconds)
        assert refused.value.kind == "invalid_pin"
    for commit_id in ("main", scenario.head[:12], scenario.head.upper(), "0" * 64, ""):
        with pytest.raises(NotFound):
            pins.put("sea", "me", NAME, [commit_id], 60)
    with pytest.raises(NotFound):
        pins.put("nowhere", "me", NAME, [scenario.head], 60)
    with pytest.raises(Invalid):
        pins.renew("sea", "me", NAME, MAX_PIN_SECONDS + 1)
    assert not scenario.records


def test_pins_of_other_users_cannot_be_released_or_renewed(scenario):
    pins = scenario.lake.pins
    pins.put("sea", "jane", NAME, [scenario.head], 60)
    pins.release("sea", "john", NAME)
    with pytest.raises(Conflict):
        pins.renew("sea", "john", NAME, 60)
    assert scenario.pinned == {scenario.head}
    pins.renew("sea", "jane", NAME, 60)
    pins.release("sea", "jane", NAME)
    pins.release("sea", "jane", NAME)
    assert not scenario.records


def test_a_user_has_so_many_pins(scenario, monkeypatch):
    monkeypatch.setattr("anabranch.catalog.garbage.pins.MAX_PINS", 10)
    pins = scenario.lake.pins
    for number in range(10):
        pins.put("sea", "me", f"{NAME}-{number}", [scenario.head], 60)
    with pytest.raises(Busy):
        pins.put("sea", "me", NAME, [scenario.head], 60)
    pins.put("sea", "me", f"{NAME}-7", [scenario.head], 60)
    pins.put("sea", "other", NAME, [scenario.head], 60)
    scenario.clock.advance(CLOCK_SKEW_SECONDS + 60)
    pins.put("sea", "me", NAME, [scenario.head], 60)
    assert len(scenario.records) == 1
