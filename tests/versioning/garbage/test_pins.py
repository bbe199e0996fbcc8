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


class Sea:
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
def sea(tmp_path):
    sea = Sea(tmp_path)
    with sea.lake:
        yield sea


def test_a_pin_holds_by_any_clock_and_then_ends(sea):
    pin = sea.pins.pin(sea.repository, [sea.head])
    sea.clock.advance(PIN_SECONDS + CLOCK_SKEW_SECONDS - 1)
    assert sea.pinned == {sea.head}
    sea.clock.advance(1)
    assert sea.pinned == set()
    with pytest.raises(Conflict) as lost:
        sea.pins.renew(pin)
    assert lost.value.kind == "pin_lost"
    assert lost.value.hint


def test_a_pin_that_ended_and_that_no_collection_met_is_renewed(sea):
    pin = sea.pins.pin(sea.repository, [sea.head])
    sea.clock.advance(DAY)
    sea.pins.renew(pin)
    assert sea.pinned == {sea.head}


def test_a_renewal_whose_answer_was_lost_is_made_again(sea):
    pin = sea.pins.pin(sea.repository, [sea.head])
    sea.clock.advance(5)
    sea.pins.renew(pin)  # the one whose answer was lost
    sea.clock.advance(5)
    renewed = sea.pins.renew(pin)
    assert sea.pins.renew(renewed) == renewed


def test_two_pins_of_one_commit_are_two(sea):
    one, two = (sea.pins.pin(sea.repository, [sea.head]) for _ in range(2))
    sea.pins.release(one)
    sea.pins.release(one)
    assert sea.pinned == {sea.head}
    sea.pins.renew(two)
    with pytest.raises(Conflict):
        sea.pins.renew(one)


def test_a_named_pin_is_written_again_and_never_ends_earlier(sea):
    for seconds in (MAX_PIN_SECONDS, 1):
        sea.pins.pin(sea.repository, [sea.head], name="x", seconds=seconds)
        sea.pins.renew(sea.pins.by_name(sea.repository, "x"), 1)
    sea.clock.advance(CLOCK_SKEW_SECONDS + MAX_PIN_SECONDS - 1)
    assert sea.pinned == {sea.head}
    sea.pins.pin(sea.repository, [sea.old], name="x")
    assert sea.pinned == {sea.old}
    assert len(sea.records) == 1


def test_an_expired_commit_is_refused_during_a_sweep_and_the_pin_is_as_it_was(sea):
    sea.pins.pin(sea.repository, [sea.head], name="x")
    before = sea.records
    sea.lake.core.sweeps.begin("s")
    with pytest.raises(Conflict) as refused:
        sea.pins.pin(sea.repository, [sea.head, sea.old], name="x")
    assert refused.value.kind == "commit_expired"
    with pytest.raises(Conflict):
        sea.pins.pin(sea.repository, [sea.old])
    assert sea.records == before
    sea.pins.pin(sea.repository, [sea.head], name="x", seconds=MAX_PIN_SECONDS)
    sea.lake.core.sweeps.end("s")
    sea.pins.pin(sea.repository, [sea.old], name="x")
    sea.lake.core.sweeps.begin("s")
    sea.pins.pin(sea.repository, [sea.old], name="x")  # it is pinned: nothing was removed


def test_pins_that_have_ended_are_removed_without_a_collection(sea):
    sea.pins.pin(sea.repository, [sea.head], seconds=1)
    sea.pins.pin(sea.repository, [sea.head], seconds=MAX_PIN_SECONDS)
    sea.clock.advance(CLOCK_SKEW_SECONDS + 1)
    sea.pins.clean()
    assert len(sea.records) == 1


def test_a_pin_that_others_change_meanwhile(sea):
    pin = sea.pins.pin(sea.repository, [sea.head], name="x")

    def other(operation, subject):
        if (operation, subject) == ("apply", "anabranch-pins"):
            sea.keyvalue.before = lambda *_: None
            sea.clock.advance(1)
            sea.pins.renew(pin)

    sea.keyvalue.before = other
    sea.pins.pin(sea.repository, [sea.old], name="x")
    assert sea.pinned == {sea.old}
    sea.keyvalue.before = other
    sea.pins.renew(pin)
    assert sea.pinned == {sea.old}


def test_what_a_client_may_not_ask_for(sea):
    pins = sea.lake.pins
    wrong = [
        (NAME, [sea.head], 0),
        (NAME, [sea.head], -1),
        (NAME, [sea.head], MAX_PIN_SECONDS + 1),
        (NAME, [], 60),
        (NAME, [sea.head] * 1001, 60),
        ("short", [sea.head], 60),
        (NAME + "/x", [sea.head], 60),
        (NAME.upper(), [sea.head], 60),
        ("x" * 97, [sea.head], 60),
        (NAME + "\n", [sea.head], 60),
    ]
    for name, commits, seconds in wrong:
        with pytest.raises(Invalid) as refused:
            pins.put("sea", "me", name, commits, seconds)
        assert refused.value.kind == "invalid_pin"
    for commit_id in ("main", sea.head[:12], sea.head.upper(), "0" * 64, ""):
        with pytest.raises(NotFound):
            pins.put("sea", "me", NAME, [commit_id], 60)
    with pytest.raises(NotFound):
        pins.put("nowhere", "me", NAME, [sea.head], 60)
    with pytest.raises(Invalid):
        pins.renew("sea", "me", NAME, MAX_PIN_SECONDS + 1)
    assert not sea.records


def test_pins_of_other_users_cannot_be_released_or_renewed(sea):
    pins = sea.lake.pins
    pins.put("sea", "jane", NAME, [sea.head], 60)
    pins.release("sea", "john", NAME)
    with pytest.raises(Conflict):
        pins.renew("sea", "john", NAME, 60)
    assert sea.pinned == {sea.head}
    pins.renew("sea", "jane", NAME, 60)
    pins.release("sea", "jane", NAME)
    pins.release("sea", "jane", NAME)
    assert not sea.records


def test_a_user_has_so_many_pins(sea, monkeypatch):
    monkeypatch.setattr("anabranch.catalog.garbage.pins.MAX_PINS", 10)
    pins = sea.lake.pins
    for number in range(10):
        pins.put("sea", "me", f"{NAME}-{number}", [sea.head], 60)
    with pytest.raises(Busy):
        pins.put("sea", "me", NAME, [sea.head], 60)
    pins.put("sea", "me", f"{NAME}-7", [sea.head], 60)
    pins.put("sea", "other", NAME, [sea.head], 60)
    sea.clock.advance(CLOCK_SKEW_SECONDS + 60)
    pins.put("sea", "me", NAME, [sea.head], 60)
    assert len(sea.records) == 1
