"""Each call that a use case makes to a store fails once: the state is the one before or the one
after, the same for all servers, what was acknowledged was done, and a second attempt succeeds.
"""

from __future__ import annotations

import gc

import pytest
from failures.failing_stores import Failure, Fault
from failures.lake_state import Installation, prepare, state
from failures.use_cases import EXAMPLES, READS, TASKS

from anabranch.errors import AnabranchError

UNACKNOWLEDGED = {"expiry.delete_due"}
"""Periodic tasks, which say in the log what they could not do, and try again."""

PARTS = {name.partition(".")[0] for name in EXAMPLES}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    installation = Installation(tmp_path_factory.mktemp("cache"), Fault())
    prepare(installation)
    yield installation
    installation.close()


@pytest.fixture(autouse=True)
def unmapped():
    """Frees the tables that the lakes of a test have mapped, of which a process may have 65,530."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def before(prepared):
    return state(prepared.lake)


def test_each_use_case_that_changes_something_has_an_example(prepared):
    named = {name.partition(" ")[0] for name in EXAMPLES} | TASKS.keys()
    for part in PARTS:
        methods = {
            name
            for name in dir(getattr(prepared.lake, part))
            if not name.startswith("_") and callable(getattr(getattr(prepared.lake, part), name))
        }
        changing = {f"{part}.{name}" for name in methods - READS.get(part, set())}
        assert changing <= named, changing - named


@pytest.mark.sample(6)
@pytest.mark.parametrize("failure", Failure)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_call_that_fails_leaves_the_state_before_or_after(prepared, before, name, failure):
    example = EXAMPLES[name]
    sound = prepared.copy(Fault())
    started = sound.fault.calls
    example(sound.lake)
    calls = sound.fault.calls - started
    after = state(sound.open())
    sound.close()
    assert calls, "the example calls no store"
    for number in range(1, calls + 1):
        trial = prepared.copy(Fault(number, failure))
        acknowledged = True
        try:
            example(trial.lake)
        except AnabranchError:
            acknowledged = False
        trial.fault.heal()
        where = f"call {number} of {calls}: {trial.fault.struck}"
        found = state(trial.open())
        assert found in (before, after), where
        assert state(trial.lake) == found, f"{where}: the server has another state than its store"
        assert not acknowledged or found == after or name in UNACKNOWLEDGED, where
        if found != after or before == after:
            example(trial.lake)
            assert state(trial.open()) == after, f"{where}: the second attempt"
        trial.close()
