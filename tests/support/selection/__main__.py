"""`python -m support.selection` runs the tests that a change needs first, from a checkout's root.

--base REF      compare with where REF and HEAD parted (HEAD: what is not committed)
--budget N      seconds until the verdict (25)
--list          show what would run
--record FILE   write tests/durations.json from a report that `pytest --junitxml` wrote
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from support.selection.budget import SECONDS_VARIABLE, STARTUP_SECONDS, Choice, choose
from support.selection.changes import changed_files
from support.selection.durations import DURATIONS, durations, record
from support.selection.import_graph import importers
from support.selection.other_checks import Check, other_checks, stale_build
from support.selection.ranking import Candidate, Nearness, rank
from support.selection.smoke import with_smoke
from support.selection.source_files import load_project

_SHOWN = 6
_NO_TESTS = 5  # pytest's exit status
_LITTLE_SECONDS = 4.0  # workers take longer to start than they save
_WORDS = {
    Nearness.CHANGED: "changed",
    Nearness.MIRRORS: "mirrors it",
    Nearness.NAMES: "reads it",
    Nearness.SMOKE: "smoke test",
    Nearness.IMPORTS: "imports it",
    Nearness.FOLDER: "same folder",
    Nearness.SUBJECT: "same subject",
    Nearness.PACKAGE: "same package",
    Nearness.REACHES: "reaches it",
}


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status of the first command that failed; 0 if there is nothing to run."""
    parser = argparse.ArgumentParser(prog="make test-changed", description=__doc__)
    parser.add_argument("--base", default="HEAD")
    parser.add_argument("--budget", type=float, default=25)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--record", type=Path, action="append", metavar="FILE")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    project = load_project(root)
    if options.record:
        print(f"{DURATIONS}: files of tests measured: {record(project, options.record)}")
        return 0
    changed = changed_files(root, options.base)
    if not changed:
        print(f"Nothing differs from {options.base}.")
        return 0
    stale = stale_build(root, changed)
    seen = [path for path in changed if path not in stale]
    ranked = rank(seen, project, importers(project), durations(project))
    workers = min(os.cpu_count() or 1, 8)
    choice = choose(with_smoke(ranked, seen), options.budget, workers)
    checks = other_checks(root, changed)
    _show(changed, choice, checks, options.budget)
    for path, word in stale.items():
        print(f"Not seen by tests of Python until `{word}` builds it: {path}")
    if options.list:
        return 0
    return _run(choice, checks, workers, options.budget - STARTUP_SECONDS)


def _show(changed: Sequence[str], choice: Choice, checks: Sequence[Check], budget: float) -> None:
    print("Changed: " + ", ".join(_few(changed)))
    for check in checks:
        print(f"  {check.name}")
    files = [*choice.chosen, *choice.cut]
    if not files and not checks:
        print("No test reaches the change.")
    if files:
        print(f"Files of tests: {len(files)}, about {choice.seconds:.0f} s of {budget:.0f}:")
    for nearness, group in groupby(sorted(files), lambda candidate: candidate.nearness):
        names = [candidate.path.removeprefix("tests/") for candidate in group]
        print(f"  {_WORDS[nearness]:12} {len(names):3}  {', '.join(_few(names))}")
    for candidate in choice.cut:
        print(f"  until the time is over: {candidate.path}, which takes {candidate.cost:.0f} s")
    if choice.skipped:
        print(f"Left out, `make test` runs them: {_summary(choice.skipped)}")


def _summary(skipped: Sequence[Candidate]) -> str:
    seconds = sum(candidate.cost for candidate in skipped)
    counts = ", ".join(
        f"{len(list(group))} {_WORDS[nearness]}"
        for nearness, group in groupby(skipped, lambda candidate: candidate.nearness)
    )
    return f"{len(skipped)} files ({counts}), about {seconds:.0f} s"


def _few(names: Sequence[str]) -> list[str]:
    rest = len(names) - _SHOWN
    return [*names[:_SHOWN], f"and {rest} more"] if rest > 0 else list(names)


def _run(choice: Choice, checks: Sequence[Check], workers: int, seconds: float) -> int:
    """Runs all at once and returns the first exit status that is not 0."""
    sys.stdout.flush()
    others = [
        (check, subprocess.Popen(check.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        for check in checks
    ]
    status = _pytest(choice, workers, seconds)
    for check, process in others:
        output, _ = process.communicate()
        print(f"{check.name}: {'failed' if process.returncode else 'passed'}")
        if process.returncode:
            print(output.decode(errors="replace"))
            status = status or process.returncode
    return status


def _pytest(choice: Choice, workers: int, seconds: float) -> int:
    files = [candidate.path for candidate in sorted((*choice.chosen, *choice.cut))]
    if not files:
        return 0
    several = choice.cut or sum(candidate.cost for candidate in choice.chosen) > _LITTLE_SECONDS
    # in this order: the closest first, and what is furthest is left out when the time is over
    parallel = ["-n", str(workers), "--no-loadscope-reorder"]
    options = parallel if several and workers > 1 and len(files) > 1 else []
    options += ["-q", "-m", "not slow", "-p", "support.selection.deadline"]
    # pytest keeps the plugins that it rewrites only if Python may write what it compiles
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, SECONDS_VARIABLE: str(seconds)}
    command = [sys.executable, "-m", "pytest", *options, *files]
    status = subprocess.run(command, env=environment, check=False).returncode
    return 0 if status == _NO_TESTS else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
