"""References to files of tables that a sweep is about to remove, made ahead of any of its steps.

The property is always this: a reference is refused, or all files of all its tables are stored, then
and at the end.
"""

from __future__ import annotations

import itertools

import pytest
from support.session.sizes import sized

from .scenario import (
    REFERENCES,
    WAYS,
    TableScenario,
    append_as_usual,
    attempt,
)
from .table_engine import read, readable

STRIDE = sized(30, weekly=12)
"""Every so many steps are tried; each reference begins at another one."""


def at_each_step(folder, refer, way, *, stride=1, first=0):
    """Yields the scenarios of sweeps ahead of whose steps a reference was made, and what each
    attempt returned.
    """
    for number in itertools.count(first, stride):
        own = folder / f"{refer.__name__}-{number}"
        own.mkdir()
        scenario, made = TableScenario(own, way=way), []
        with scenario.lake:
            live = read(scenario.lake, "main")
            scenario.steps.arm(
                number, lambda scenario=scenario, made=made: made.append(attempt(scenario, refer))
            )
            sweep(scenario)
            if not made:
                return
            yield scenario, made[0], live


def sweep(scenario):
    with scenario.mark() as run:
        assert run.summary.tables.dead.objects
        run.sweep()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("refer", REFERENCES)
@pytest.mark.sample(1)
def test_reference_ahead_of_a_step_of_a_sweep_is_refused_or_keeps_its_files(refer, way, tmp_path):
    outcomes = set()
    for scenario, made, live in at_each_step(
        tmp_path, refer, way, stride=STRIDE, first=REFERENCES.index(refer) % STRIDE
    ):
        outcomes.add(made is not None)
        if made is not None:
            reference, found = made
            assert readable(scenario.lake, reference) == found, "files are gone"
        if made is None:
            assert read(scenario.lake, "main") == live
    assert True in outcomes
    if refer is append_as_usual:
        assert outcomes == {True}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_sweep_removes_and_what_it_keeps(way, tmp_path):
    scenario = TableScenario(tmp_path, way=way)
    with scenario.lake:
        before, live = scenario.files(), read(scenario.lake, "main")
        with scenario.mark() as run:
            run.sweep()
        after = scenario.files()
        assert read(scenario.lake, "main") == live
        gone = {name.partition("/")[2] for name in before - after}
        assert {each.partition("/.tables/")[2] for each in scenario.dead} <= gone
        assert scenario.dropped.partition("/.tables/")[2] in gone
        # the log of the live metadata names it
        assert scenario.old_metadata.partition("/.tables/")[2] not in gone
        assert not {name for name in gone if name.endswith(".json") and "/" not in name}
