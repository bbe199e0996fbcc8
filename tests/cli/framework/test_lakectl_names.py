"""Commands by the names that lakectl has for them."""

from __future__ import annotations

import pytest

from anabranch.cli.framework.command import Group
from anabranch.cli.framework.lakectl_names import LAKECTL_COMMANDS, own_name
from anabranch.cli.main import SECTIONS, load

pytestmark = pytest.mark.usefixtures("home")


def declared_commands():
    for _, section in SECTIONS:
        for entry in section:
            declared = load(entry)
            if isinstance(declared, Group):
                yield from (f"{entry.name} {command.name}" for command in declared.commands)
                yield from ([entry.name] if declared.default else [])
            else:
                yield entry.name


def test_every_visible_command_of_lakectl_has_its_counterpart():
    assert len(LAKECTL_COMMANDS) == 77
    assert set(LAKECTL_COMMANDS.values()) - set(declared_commands()) == set()


def test_names_of_lakectl_are_understood(run):
    for theirs, ours in LAKECTL_COMMANDS.items():
        if theirs != "config":
            assert run.ok(*theirs.split(), "--help").out == run.ok(*ours.split(), "--help").out
    assert run.ok("refs-dump", "--help").out == run.ok("refs", "dump", "--help").out


def test_only_whole_names_are_replaced():
    assert own_name(["actions", "runs", "list", "lakefs://a"]) == ["actions", "list", "lakefs://a"]
    assert own_name(["actions", "runs"]) == ["actions", "runs"]
    assert own_name(["commit", "refs-dump"]) == ["commit", "refs-dump"]
