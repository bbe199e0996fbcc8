"""Hooks whose libraries are extras: without these, the file is refused with what to install."""

import subprocess
import sys

import pytest

HOOKS = {
    "lupa": ("lua", {"script": "x = 1"}, "anabranch[lua]"),
    "pyarrow": ("check", {"tables": [{"path": "t", "not_null": "a"}]}, "anabranch[merge]"),
    "duckdb": ("check", {"tables": [{"path": "t", "unique": "a"}]}, "anabranch[merge]"),
}

PROGRAM = """
import importlib.util, sys
from anabranch.actions.hooks.registry import make_hook
from anabranch.errors import NotSupported

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(name)

find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in {missing!r} else find(name, *rest)
sys.meta_path.insert(0, Missing())
for type_, properties in {hooks!r}:
    try:
        make_hook(type_, properties)
        print("made")
    except NotSupported as error:
        print(error.kind, error.hint)
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("missing", HOOKS)
def test_a_missing_library_is_named(missing):
    type_, properties, extra = HOOKS[missing]
    others = [("check", {"files": [{"max_size": 1}]}), ("webhook", {"url": "http://h/"})]
    program = PROGRAM.format(missing={missing}, hooks=[(type_, properties), *others])
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    refused, *made = ran.stdout.splitlines()
    assert refused.startswith("library_missing ")
    assert extra in refused
    assert made == ["made", "made"]


def test_only_rules_about_keys_need_duckdb():
    hooks = [("check", {"tables": [{"path": "t", "not_null": "a", "rows": {"min": 1}}]})]
    program = PROGRAM.format(missing={"duckdb"}, hooks=hooks)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "made\n"
