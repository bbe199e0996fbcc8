#!/usr/bin/env python3
"""Lists what a job of a workflow calls, or runs it on this machine, without a container.

    .venv/bin/python tools/run_workflow.py ci.yml check              list the steps
    .venv/bin/python tools/run_workflow.py ci.yml check --execute    run them, up to a failure

Of a matrix the first value of each key counts. Actions of others (`uses:`), which prepare a
machine, are listed and not run: this machine is prepared.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml

WORKFLOWS = Path(".github/workflows")
_MATRIX = re.compile(r"\$\{\{ *matrix\.([a-z_-]+) *\}\}")
_GITHUB_SHELL = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c")


class Step(NamedTuple):
    """A command of a job, or an action that is not run."""

    command: str
    action: str
    folder: str
    environment: dict[str, str]


def main(arguments: list[str]) -> int:
    """Lists or runs a job; returns the exit code of the command that failed, else 0."""
    parser = argparse.ArgumentParser(description="List or run the steps of a workflow's job.")
    parser.add_argument("workflow", help=f"a file of {WORKFLOWS}")
    parser.add_argument("job")
    parser.add_argument("--execute", action="store_true", help="run the commands")
    given = parser.parse_args(arguments)
    try:
        workflow = yaml.safe_load((WORKFLOWS / given.workflow).read_text("utf-8"))
        steps = job_steps(workflow, given.job)
    except (OSError, LookupError, ValueError) as error:
        print(f"run_workflow: {error}", file=sys.stderr)
        return 1
    for step in steps:
        if not step.command:
            print(f"# not run: {step.action}", flush=True)
            continue
        where = "" if step.folder == "." else f"cd {step.folder} && "
        print(f"$ {where}{step.command}", flush=True)
        if given.execute:
            status = subprocess.run(
                [*_GITHUB_SHELL, step.command],
                cwd=step.folder,
                env={**os.environ, **step.environment},
                check=False,
            ).returncode
            if status:
                print(f"run_workflow: exit code {status}", file=sys.stderr)
                return status
    return 0


def job_steps(workflow: dict[str, Any], name: str) -> list[Step]:
    """Returns the steps of a job, with the first values of its matrix. Raises LookupError for a job
    that is not there, ValueError for an expression in what is run.
    """
    if name not in workflow["jobs"]:
        raise LookupError(f"no job {name!r}; there are: {', '.join(workflow['jobs'])}")
    job = workflow["jobs"][name]
    matrix = {key: values[0] for key, values in job.get("strategy", {}).get("matrix", {}).items()}
    folder = job.get("defaults", {}).get("run", {}).get("working-directory", ".")
    steps = []
    for step in job["steps"]:
        command = step.get("run", "").strip()
        environment = workflow.get("env", {}) | job.get("env", {}) | step.get("env", {})
        resolved = Step(
            command,
            step.get("uses", ""),
            _with_matrix(step.get("working-directory", folder), matrix),
            {key: _with_matrix(str(value), matrix) for key, value in environment.items()},
        )
        if command and "${{" in "".join([command, resolved.folder, *resolved.environment.values()]):
            raise ValueError(f"an expression that only a forge can evaluate: {command}")
        steps.append(resolved)
    return steps


def _with_matrix(text: str, matrix: dict[str, str]) -> str:
    return _MATRIX.sub(lambda match: str(matrix[match[1]]), text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
