"""A job of a workflow, listed and run without a forge."""

import subprocess
import sys

import pytest
from support.checkout import ROOT

TOOL = ROOT / "tools/run_workflow.py"
WORKFLOW = """\
on: push
env: {GREETING: hello}
jobs:
  greet:
    strategy: {matrix: {python: ["3.11", "3.12"]}}
    env: {PYTHON: "${{ matrix.python }}"}
    steps:
      - uses: actions/checkout@v1
      - run: echo "$GREETING $PYTHON" >greeting
      - run: pwd >where
        working-directory: sub
  fail:
    steps:
      - run: false | cat
      - run: touch reached
  forge:
    steps:
      - run: echo ${{ github.sha }}
"""


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / ".github/workflows/ci.yml").write_text(WORKFLOW)
    return tmp_path


def run(checkout, *arguments):
    return subprocess.run(
        [sys.executable, TOOL, *arguments],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )


def test_steps_are_listed_and_not_run(checkout):
    listed = run(checkout, "ci.yml", "greet")
    assert listed.stdout.splitlines() == [
        "# not run: actions/checkout@v1",
        '$ echo "$GREETING $PYTHON" >greeting',
        "$ cd sub && pwd >where",
    ]
    assert not (checkout / "greeting").exists()


def test_steps_run_with_the_environment_of_workflow_job_and_matrix(checkout):
    assert run(checkout, "ci.yml", "greet", "--execute").returncode == 0
    assert (checkout / "greeting").read_text() == "hello 3.11\n"
    assert (checkout / "sub/where").read_text() == f"{checkout / 'sub'}\n"


def test_failed_step_ends_the_job(checkout):
    finished = run(checkout, "ci.yml", "fail", "--execute")
    assert finished.returncode == 1
    assert not (checkout / "reached").exists()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("workflow", "job", "problem"),
    [
        ("ci.yml", "absent", "no job 'absent'; there are: greet, fail, forge"),
        ("cd.yml", "greet", "cd.yml"),
        ("ci.yml", "forge", "an expression that only a forge can evaluate"),
    ],
)
def test_what_cannot_run_is_named(checkout, workflow, job, problem):
    refused = run(checkout, workflow, job, "--execute")
    assert refused.returncode == 1
    assert problem in refused.stderr
    assert refused.stdout == ""


@pytest.mark.sample(1)
@pytest.mark.parametrize("job", ["check", "test", "systems", "macos"])
def test_jobs_of_this_project_can_be_listed(job):
    listed = run(ROOT, "ci.yml", job)
    assert listed.returncode == 0
    assert "$ make " in listed.stdout
