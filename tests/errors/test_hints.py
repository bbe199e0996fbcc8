"""Which hint an error has: its own, that of its kind, or that of its class."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anabranch
from anabranch.cli.framework.command import Group
from anabranch.cli.main import SECTIONS, load
from anabranch.errors import AlreadyExists, Busy, Invalid, NotFound
from anabranch.errors.hints import HINTS


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (NotFound("x", kind="branch_not_found", hint="own"), "own"),
        (NotFound("x", kind="branch_not_found", hint=""), ""),
        (NotFound("x", kind="branch_not_found"), HINTS["branch_not_found"]),
        (AlreadyExists("x", kind="name_is_taken_here"), AlreadyExists.hint),
        (AlreadyExists("x"), AlreadyExists.hint),
        (Busy("x", kind="too_many_hooks"), HINTS["too_many_hooks"]),
        (Invalid("x"), ""),
    ],
)
def test_an_error_has_the_nearest_hint(error, hint):
    assert error.hint == hint


def test_commands_that_messages_name_exist():
    entries = {entry.name: entry for _, section in SECTIONS for entry in section}
    unknown = set()
    for file in Path(anabranch.__file__).parent.rglob("*.py"):
        text = re.sub(r'"\s*\n\s*f?"', "", file.read_text())  # a message over several lines
        for line in re.findall(r"`anabranch ([a-z][a-z-]*(?: [a-z-]+)*)", text):
            name, *words = [word for word in line.split() if not word.startswith("-")]
            known = name in entries or name == "complete-words"  # called by shells alone
            if words and name in entries and isinstance(found := load(entries[name]), Group):
                known = any(found.find(" ".join(words[:count])) for count in range(1, 4))
            if not known:
                unknown.add(f"{file.name}: {line}")
    assert unknown == set()
