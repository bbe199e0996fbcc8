"""`python -m support.selection` in a small checkout, as `make test-changed` calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.selection.budget import SECONDS_VARIABLE
from support.selection.changes import changed_files
from support.selection.durations import DURATIONS

SUPPORT = Path(__file__).parents[1]
FILES = {
    "pytest.ini": "[pytest]\npythonpath = src\nmarkers = slow\n",
    ".gitignore": "__pycache__\n.pytest_cache\nignored\n",
    "src/anabranch/__init__.py": "",
    "src/anabranch/total.py": "def total(items):\n    return sum(items)\n",
    "src/anabranch/unused.py": "",
    "tests/test_total.py": (
        "from anabranch.total import total\ndef test_total():\n    assert total([1, 2]) == 3\n"
    ),
    "tests/test_apart.py": "def test_apart():\n    raise SystemExit('never run')\n",
}


@pytest.fixture
def project(checkout):
    checkout.commit(FILES)
    return checkout


def run(project, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    done = subprocess.run(
        [sys.executable, "-m", "support.selection", *arguments],
        cwd=project.root,
        env=environment,
        capture_output=True,
        check=False,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_a_fault_is_found_and_its_removal_proved(project):
    project.write({"src/anabranch/total.py": "def total(items):\n    return max(items)\n"})
    status, output = run(project)
    assert (status, "1 failed" in output) == (1, True), output
    project.write({"src/anabranch/total.py": "def total(items):\n    return sum(list(items))\n"})
    status, output = run(project)
    assert (status, "1 passed" in output) == (0, True), output


def test_without_a_change_nothing_runs(project):
    assert run(project) == (0, "Nothing differs from HEAD.\n")


def test_a_change_that_no_test_reaches_is_reported(project):
    project.write({"src/anabranch/unused.py": "VALUE = 1\n"})
    status, output = run(project)
    assert (status, "No test reaches the change." in output) == (0, True)


def test_what_is_left_out_is_reported(project):
    seconds = {"tests/test_total.py": 0.1, "tests/test_long.py": 900}
    project.commit({"tests/test_long.py": "import anabranch.total", DURATIONS: json.dumps(seconds)})
    project.write({"src/anabranch/total.py": ""})
    status, output = run(project, "--list")
    assert status == 0
    assert "Left out, `make test` runs them: 1 files (1 imports it), about 900 s" in output


def test_a_base_that_git_does_not_know_is_an_error(project):
    status, output = run(project, "--base", "no-such")
    assert status == 1
    assert "no-such" in output


def test_changes_are_committed_changed_removed_and_new_files(project):
    project.git("switch", "--quiet", "--create", "topic")
    project.commit({"committed.py": ""})
    project.git("switch", "--quiet", "main")
    project.commit({"of-main.py": ""})
    project.git("switch", "--quiet", "topic")
    project.write({"new file.py": "", "ignored": "", "src/anabranch/total.py": ""})
    (project.root / "src/anabranch/unused.py").unlink()
    (project.root / "linked").symlink_to(project.root / "src")
    uncommitted = ["new file.py", "src/anabranch/total.py", "src/anabranch/unused.py"]
    assert changed_files(project.root, "HEAD") == uncommitted
    assert changed_files(project.root, "main") == ["committed.py", *uncommitted]


def test_durations_are_recorded_from_a_report(project):
    known = {"tests/test_apart.py": 7.5, "tests/test_removed.py": 1}
    project.write({DURATIONS: json.dumps(known), "tests/test_new.py": ""})
    report = project.root / "ignored"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_total" time="1.25"/>'
        '<testcase classname="tests.test_total.TestClass" time="0.5"/>'
        '<testcase classname="elsewhere" time="9"/></testsuite></testsuites>'
    )
    status, output = run(project, "--record", str(report))
    assert (status, output) == (0, "tests/durations.json: files of tests measured: 1\n")
    recorded = json.loads((project.root / DURATIONS).read_text())
    assert recorded == {"tests/test_apart.py": 7.5, "tests/test_total.py": 1.75}


@pytest.mark.slow
def test_tests_that_would_begin_after_the_budget_are_skipped(project):
    project.write({"tests/test_late.py": "def test_late():\n    assert False\n"})
    plugin = ["-p", "support.selection.deadline", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", *plugin, "tests/test_late.py"],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": str(SUPPORT), SECONDS_VARIABLE: "-1"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0
    assert "left out: the budget of seconds is spent" in done.stdout
