"""Processes that `kill -9` ends at steps of undo, expiry, the deletion and restoration of
repositories, and changes of users, groups and policies and their undo: what a later process finds
is the state before or after, and it can go on.
"""

from __future__ import annotations

import json
import subprocess

import pytest
from support.faults import killed_access, killed_repositories
from support.session.forked_python import forked_python

SCENARIOS = {
    "killed_repositories": list(killed_repositories.ACTIONS),
    "killed_access": list(killed_access.ACTIONS),
}


def in_groups(count):
    """Returns the actions of each scenario as `count` cases."""
    return [
        pytest.param(scenario, found[number::count], id=f"{scenario}-{number}")
        for scenario, found in SCENARIOS.items()
        for number in range(count)
    ]


def check(folder, scenario, database, actions):
    """Kills each action at its steps."""
    ran = subprocess.run(
        [forked_python(), "-m", f"support.faults.{scenario}", folder, database, *actions],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [each["action"] for each in told] == actions
    for each in told:
        action, (before, after) = each["action"], each["states"]
        assert before != after, action
        assert len(each["steps"]) >= 2
        for found, final in each["steps"]:
            assert found in (before, after), action
            assert final == after, action


@pytest.mark.parametrize(("scenario", "actions"), in_groups(2))
def test_killed_processes_leave_the_state_before_or_after(tmp_path, scenario, actions):
    check(tmp_path, scenario, "", actions)


@pytest.mark.systems
@pytest.mark.parametrize(("scenario", "actions"), in_groups(4))
@pytest.mark.sample(2)
def test_so_do_those_over_postgresql(tmp_path, postgres_database, scenario, actions):
    check(tmp_path, scenario, postgres_database, actions)
