"""Builds a source distribution and wheels into dist/, examines their contents, and installs the
wheel of this machine with each Python that is present, without compiler, Node or Java.

    make dist                                     for each Linux that Rust can compile for here
    make dist TARGETS=x86_64-unknown-linux-gnu    for some
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from distribution.building import build, targets_here
from distribution.contents import problems_of_sdist, problems_of_wheel
from distribution.smoke_test import interpreters, smoke_test, wheel_for_this_machine

FOLDER = Path("dist")


def main(arguments: list[str]) -> int:
    """Runs the steps; returns the exit code."""
    parser = argparse.ArgumentParser(description="Build, examine and try out distributions.")
    parser.add_argument("targets", nargs="*", help="Rust's names of platforms")
    parser.add_argument("--no-build", action="store_true", help=f"take those of {FOLDER}/")
    given = parser.parse_args(arguments)
    if not given.no_build:
        build(FOLDER, given.targets or targets_here())
    problems: list[str] = []
    for sdist in sorted(FOLDER.glob("*.tar.gz")):
        problems += problems_of_sdist(sdist)
    for wheel in sorted(FOLDER.glob("*.whl")):
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        problems += problems_of_wheel(wheel)
    for problem in problems:
        print(f"FAILED    {problem}")
    if problems:
        return 1
    wheel = wheel_for_this_machine(FOLDER)
    for position, python in enumerate(interpreters()):
        # the sample with pandas is the same for each Python, and brings 300 MB
        smoke_test(wheel, python, extra="sample" if position == 0 else "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
