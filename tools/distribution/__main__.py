"""Builds a source distribution and wheels into dist/, examines their contents, and installs the
wheel of this machine with each Python that is present, without compiler, Node or Java; that for
aarch64 with an emulated Python, if `tools/pythons` has got one.

    make dist                                     for each Linux that Rust can compile for here
    make dist TARGETS=x86_64-unknown-linux-gnu    for some
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

from distribution.building import build, targets_here
from distribution.contents import problems_of_sdist, problems_of_wheel
from distribution.interpreters import VERSIONS, emulated_aarch64, interpreter, wheel_for
from distribution.smoke_test import smoke_test, smoke_test_emulated

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
    _try_out()
    return 0


def _try_out() -> None:
    wheel = wheel_for(platform.machine(), FOLDER)
    if wheel is None:
        raise SystemExit(f"{FOLDER} has no wheel for {platform.machine()}")
    found = {version: interpreter(version) for version in VERSIONS}
    pythons = [python for python in found.values() if python]
    for position, python in enumerate(pythons):
        # the sample with pandas is the same for each Python, and brings 300 MB
        smoke_test(wheel, python, extra="sample" if position == 0 else "")
    for version in VERSIONS:
        if not found[version]:
            print(f"Python {version}: none here to try it on")
    other, emulated = wheel_for("aarch64", FOLDER), emulated_aarch64()
    if other and emulated:
        smoke_test_emulated(other, sys.executable, emulated)
        print("aarch64: tried under emulation")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
