"""The order of hooks and which are skipped, compared with a plain model."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.actions.files.action_file import parse_action_file
from anabranch.actions.files.events import EventType
from anabranch.actions.hooks.registry import make_hook
from anabranch.actions.runs.event import Event

PASSES = {"files": [{"max_size": "1 GiB"}]}
FAILS = {"commit_metadata": ["never"]}
CONDITIONS = {
    "": lambda failed: not failed,
    "success()": lambda failed: not failed,
    "failure()": lambda failed: failed,
    "always()": lambda _: True,
    "branch_id == 'main'": lambda _: True,
    "not success() and hook_id == 'h-01'": lambda failed: failed,  # only where it is so called
    "false": lambda _: False,
}
hooks = st.tuples(st.sampled_from(sorted(CONDITIONS)), st.booleans())
plans = st.lists(st.lists(hooks, min_size=1, max_size=4), min_size=1, max_size=4)


def action_of(number, plan):
    declared = []
    for position, (condition, passes) in enumerate(plan):
        hook = {
            "id": f"h-{position:02d}",
            "type": "check",
            "properties": PASSES if passes else FAILS,
        }
        declared.append(hook | ({"if": condition} if condition else {}))
    content = {"name": f"action {number}", "on": {"pre-commit": None}, "hooks": declared}
    return parse_action_file(json.dumps(content).encode(), f"{number}.yaml", make_hook)


def expected(plan):
    """Returns what becomes of the hooks of an action: passed, failed or skipped."""
    failed, outcomes = False, []
    for position, (condition, passes) in enumerate(plan):
        runs = CONDITIONS[condition](failed)
        if "h-01" in condition:
            runs = runs and position == 1
        outcomes.append("skipped" if not runs else "passed" if passes else "failed")
        failed |= runs and not passes
    return outcomes


def found(hook):
    return "skipped" if hook.skipped else "passed" if hook.passed else "failed"


@pytest.fixture
def repository(lake):
    return lake.core.repositories.get("sea")


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(plan=plans)
def test_hooks_run_in_order_and_are_skipped_as_their_conditions_say(lake, repository, plan):
    head = lake.branches.get("sea", "main").commit_id
    event = Event(
        type=EventType.PRE_COMMIT,
        time=1.0,
        repository="sea",
        branch="main",
        reference="main",
        base=head,
    )
    actions = [action_of(number, each) for number, each in enumerate(plan)]
    outcome = lake.engine.run(repository, event, actions)
    wanted = [expected(each) for each in plan]
    ids = [f"{a:04d}_{h:04d}" for a, each in enumerate(plan) for h in range(len(each))]
    assert [hook.hook_run_id for hook in outcome.hooks] == ids
    assert [found(hook) for hook in outcome.hooks] == [each for one in wanted for each in one]
    failures = [
        name for name, hook in zip(ids, outcome.hooks, strict=True) if found(hook) == "failed"
    ]
    assert outcome.run.passed is (not failures)
    assert [
        name for name in ids if any(f"'{name}'" in each for each in outcome.failures)
    ] == failures
    stored = lake.engine.records.list("sea", amount=1000).items
    ran = any(not hook.skipped for hook in outcome.hooks)
    assert (outcome.run.id in {run.id for run in stored}) is ran
    if ran:
        kept = lake.engine.records.hooks("sea", outcome.run.id, amount=100).items
        assert [found(hook) for hook in kept] == [found(hook) for hook in outcome.hooks]
        for name, hook in zip(ids, outcome.hooks, strict=True):
            output = lake.actions.output("sea", outcome.run.id, name)
            assert (b"Error: " in output) is (found(hook) == "failed")
    # one after another, in each action
    for number in range(len(plan)):
        times = [
            (hook.started, hook.ended)
            for hook in outcome.hooks
            if hook.action == f"action {number}" and not hook.skipped
        ]
        assert all(one[1] <= other[0] for one, other in pairwise(times))
