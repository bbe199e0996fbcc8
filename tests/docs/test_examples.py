"""The examples in pages that are marked as tested run, word for word; commands of jobs that work
in process are understood.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support.session.forked_python import forked_python

import anabranch
from anabranch.cli.framework.command import Group
from anabranch.cli.framework.parsing import choose, parse
from anabranch.cli.main import SECTIONS, load

PROJECT = Path(__file__).parents[2]
MARK = "<!-- tested -->"
PAGES = {
    page.name: text
    for page in sorted([PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")])
    if MARK in (text := page.read_text(encoding="utf-8"))
}
EXAMPLES = [
    pytest.param(example, id=f"{name}-{number}")
    for name, text in PAGES.items()
    for number, example in enumerate(
        re.findall(rf"^{MARK}\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    )
]
HISTORY_WORDS = ("log", "annotate", "bisect", "branch", "rebase")
COMMANDS = [
    (word, line)
    for word, page in (
        ("gc", "garbage-collection.md"),
        ("export", "export.md"),
        ("image", "images.md"),
        ("actions", "actions.md"),
        *((word, "rewriting-history.md") for word in HISTORY_WORDS),
        ("merge", "merging.md"),
        ("pr", "pull-requests.md"),
        ("branch-protect", "pull-requests.md"),
        ("local", "local.md"),
    )
    for line in re.findall(rf"^anabranch ({word} [^#\n]*)", PAGES[page], re.MULTILINE)
]


def test_there_are_examples():
    assert len(EXAMPLES) == sum(text.count(MARK) for text in PAGES.values())
    assert {"README.md", "garbage-collection.md", "export.md", "images.md"} <= PAGES.keys()
    assert len(COMMANDS) > 4


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.sample(2)
def test_an_example_runs(example, tmp_path):
    source = str(Path(anabranch.__file__).parent.parent)
    ran = subprocess.run(
        [forked_python(), "-c", example],
        cwd=tmp_path,
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""


@pytest.mark.parametrize(("name", "line"), COMMANDS)
def test_a_command_is_understood(name, line):
    (word,) = [word for _, section in SECTIONS for word in section if word.name == name]
    found, words = load(word), shlex.split(line)[1:]
    command, words = choose(found, words) if isinstance(found, Group) else (found, words)
    assert re.search("flights|v123|jane", str(vars(parse(name, command, words)).values()))
