"""Sweeps and rounds that begin and end between two steps of a reference to an address."""

from __future__ import annotations

import hashlib
import itertools
import random

import pytest
from support.session.sizes import sized
from support.stepped_scenario import Scenario

from anabranch.errors import Conflict, Invalid
from anabranch.keyvalue.contract import Write
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS

HOUR = 3600


@pytest.fixture
def scenario(tmp_path):
    scenario = Scenario(tmp_path)
    with scenario.lake:
        yield scenario


def link(scenario, address):
    checksum = hashlib.md5(b"linked").hexdigest()
    place = {"address": address, "checksum": checksum, "size": 6}
    scenario.lake.staging.link("sea", "main", "linked", **place)


def attempt(scenario, address):
    """Links an address; returns "linked", or the kind of the error."""
    try:
        link(scenario, address)
    except (Conflict, Invalid) as error:
        return error.kind
    return "linked"


def linkable(folder):
    """Returns a sea, and an address where a client stored an object an hour ago."""
    folder.mkdir()
    scenario = Scenario(folder)
    address = scenario.lake.staging.new_address("sea", "main", "linked")
    scenario.lake.blocks.put(address, [b"linked"])
    scenario.clock.advance(HOUR)
    return scenario, address


@pytest.mark.slow
def test_sweep_between_any_two_steps_of_a_link_fails_the_link_or_keeps_the_object(tmp_path):
    outcomes = set()
    for number in itertools.count():
        scenario, address = linkable(tmp_path / str(number))
        with (
            scenario.lake,
            scenario.collector.mark("sea", grace_seconds=0, window_seconds=0) as run,
        ):
            scenario.steps.arm(number, run.sweep)
            outcomes.add(outcome := attempt(scenario, address))
            if outcome == "linked":
                found = scenario.lake.objects.open("sea", "main", "linked")
                assert found.read_bytes() == b"linked", f"lost at step {number}"
            if scenario.steps.left >= 0:
                break
    assert number > 3
    assert outcomes == {"link_address_empty", "linked"}


def test_interleaved_links_and_sweeps_lose_no_object(tmp_path):
    outcomes = set()
    for seed in range(sized(8, weekly=20)):
        scenario, address = linkable(tmp_path / str(seed))
        made = []

        def act(scenario=scenario, address=address, made=made):
            made.append(attempt(scenario, address))

        with (
            scenario.lake,
            scenario.collector.mark("sea", grace_seconds=0, window_seconds=0) as run,
        ):
            scenario.steps.take_turns(random.Random(seed), [act, run.sweep])
            outcomes.update(made)
            if made == ["linked"]:
                found = scenario.lake.objects.open("sea", "main", "linked")
                assert found.read_bytes() == b"linked", seed
    assert outcomes <= {"linked", "being_removed", "link_address_empty"}
    assert len(outcomes) > 1


@pytest.mark.parametrize("before", ["renew", "tombstones"])
def test_reference_admitted_before_a_whole_round_is_refused(scenario, before):
    """The round begins and ends within a second, and has removed its tombstones."""
    records, sweep, address = scenario.lake.core.sweeps, "s" * 20, f"mem://sea/{scenario.left}"
    records.begin(sweep)
    _, conditions = records.admit_addresses([address])
    records.renew(sweep)
    if before == "tombstones":
        _, conditions = records.admit_addresses([address])
    records.add_tombstones(sweep, [address])
    records.remove_tombstones(sweep)
    assert not scenario.lake.keyvalue.apply([Write("test", b"reference", b"")], conditions)


@pytest.mark.sample(1)
@pytest.mark.parametrize("end", ["end", "round", "expiry"])
def test_reference_admitted_before_the_end_of_a_sweep_is_refused_at_each_step_of_it(tmp_path, end):
    for number in itertools.count():
        folder = tmp_path / str(number)
        folder.mkdir()
        scenario = Scenario(folder)
        with scenario.lake:
            records, sweep, address = (
                scenario.lake.core.sweeps,
                "s" * 20,
                f"mem://sea/{scenario.left}",
            )
            records.begin(sweep)
            _, conditions = records.admit_addresses([address])
            records.add_tombstones(sweep, [address])
            applied = []

            def refer(scenario=scenario, conditions=conditions, applied=applied):
                written = [Write("test", b"reference", b"")]
                applied.append(scenario.lake.keyvalue.apply(written, conditions))

            scenario.steps.arm(number, refer)
            if end == "end":
                records.end(sweep)
            elif end == "round":
                records.remove_tombstones(sweep)
            else:
                scenario.clock.advance(LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1)
                records.begin("t" * 20)
                records.end("t" * 20)
            if not applied:
                refer()
                break
            assert applied == [False], f"admitted at step {number}"
    assert set(applied) == {False}
    assert number > 2
