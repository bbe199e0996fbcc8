"""The examples of docs/garbage-collection.md run, word for word; its commands are understood."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch
from anabranch.cli.main import SECTIONS, load
from anabranch.cli.parsing import choose, parse

PAGE = (Path(__file__).parents[2] / "docs" / "garbage-collection.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^<!-- tested -->\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^anabranch (gc [^#\n]*)", PAGE, re.MULTILINE)


def test_there_are_examples():
    assert PAGE.count("<!-- tested -->") == len(EXAMPLES) > 0
    assert len(COMMANDS) > 3


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(example, tmp_path):
    source = str(Path(anabranch.__file__).parent.parent)
    ran = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line):
    (word,) = [word for _, section in SECTIONS for word in section if word.name == "gc"]
    command, words = choose(load(word), shlex.split(line)[1:])
    assert parse("gc", command, words).repository.repository == "flights"
