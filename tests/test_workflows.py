"""Workflows of a forge: they call commands of the Makefile, with few rights, for our Pythons."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))
# besides make: what examines dependencies, which needs a forge's databases
OTHER_COMMANDS = {
    "cargo deny --manifest-path kernel/Cargo.toml check",
    "cargo install cargo-deny --locked",
    "cargo update --manifest-path kernel/Cargo.toml",
    "npm audit",
    'gh release create "$GITHUB_REF_NAME" --repo "$GITHUB_REPOSITORY" --generate-notes dist/*',
    "pipx run pip-audit --requirement constraints.txt --no-deps --disable-pip",
}
# what a job may do beyond reading the repository
RIGHTS = {
    ("release.yml", "publish"): {"id-token": "write"},
    ("release.yml", "release-files"): {"contents": "write"},
}
PINNED = re.compile(r"uses: (\./\S+|[\w.-]+/[\w./-]+@[0-9a-f]{40} # \S.*)")
VERSION_OF_PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)")


def parsed(path):
    return yaml.safe_load(path.read_text("utf-8"))


def jobs(path):
    return parsed(path)["jobs"]


def make_words():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def supported_pythons():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [
        match[1] for line in project["classifiers"] if (match := VERSION_OF_PYTHON.fullmatch(line))
    ]


def unknown_commands(steps, words):
    """Returns the commands that neither the Makefile nor the list has."""
    unknown = []
    for command in (line.strip() for step in steps for line in step.get("run", "").splitlines()):
        program, *arguments = shlex.split(command) or ["#"]
        called = [word for word in arguments if "=" not in word]
        if program == "make" and called and words.issuperset(called):
            continue
        if command not in OTHER_COMMANDS:
            unknown.append(command)
    return unknown


def test_workflows_are_found():
    assert [path.name for path in WORKFLOWS] == [
        "ci.yml",
        "dependencies.yml",
        "release.yml",
        "weekly.yml",
    ]
    assert ACTIONS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_steps_call_make_or_listed_commands(path):
    steps = [step for job in jobs(path).values() for step in job["steps"]]
    assert unknown_commands(steps, make_words()) == []


def test_unknown_words_and_commands_are_seen():
    steps = [{"run": "make check\nmake absent"}, {"run": "make"}, {"run": "pytest -q"}, {}]
    assert unknown_commands(steps, {"check"}) == ["make absent", "make", "pytest -q"]
    assert unknown_commands([{"run": "make check && pytest"}], {"check"}) != []


def test_composite_actions_run_no_commands():
    steps = [step for path in ACTIONS for step in parsed(path)["runs"]["steps"]]
    assert [step for step in steps if "run" in step] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_may_only_read_the_repository_but_for_listed_jobs(path):
    assert parsed(path)["permissions"] == {"contents": "read"}
    for name, job in jobs(path).items():
        assert job.get("permissions") == RIGHTS.get((path.name, name))
    # YAML reads the key `on` as true
    assert "pull_request_target" not in parsed(path)[True]
    assert "secrets." not in path.read_text("utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_credentials_stay_in_the_checkout(path):
    checkouts = [
        step
        for job in jobs(path).values()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
    ]
    # a job that may write runs no code of the checkout
    assert len(checkouts) == len([job for job in jobs(path).values() if "permissions" not in job])
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: path.name)
def test_actions_of_others_are_pinned_to_a_commit(path):
    lines = [line for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert lines
    assert [line for line in lines if not PINNED.search(line)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_runs_are_limited_in_number_and_time(path):
    assert parsed(path)["concurrency"]["group"]
    assert [name for name, job in jobs(path).items() if "timeout-minutes" not in job] == []


def test_publishing_needs_a_tag_and_no_stored_secret():
    release = ROOT / ".github/workflows/release.yml"
    assert parsed(release)[True]["push"] == {"tags": ["v*"]}
    for _, name in RIGHTS:
        assert jobs(release)[name]["if"] == "github.ref_type == 'tag'"
        assert jobs(release)[name]["needs"] == ["linux", "aarch64"]
    assert "password" not in release.read_text("utf-8")


def test_every_matrix_has_the_pythons_of_the_classifiers():
    matrices = [
        job["strategy"]["matrix"]
        for path in WORKFLOWS
        for job in jobs(path).values()
        if "strategy" in job
    ]
    pythons = [matrix["python"] for matrix in matrices if "python" in matrix]
    assert len(pythons) >= 3
    assert [versions for versions in pythons if versions != supported_pythons()] == []


def test_single_pythons_are_the_oldest():
    named = {
        version
        for path in WORKFLOWS
        for version in re.findall(r"python: ?\"?(3\.\d+)", path.read_text("utf-8"))
    }
    assert named == {supported_pythons()[0]}


def test_classifiers_begin_with_the_required_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == f">={supported_pythons()[0]}"
