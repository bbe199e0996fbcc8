"""Measures which lines of the kernel its own tests run, and writes what llvm-cov says of each file.

Usage: python tools/coverage_rust.py SUMMARY.json. LLVM's tools come with the compiler
(`rustup component add llvm-tools`) or from the system, as llvm-cov-19: its format is that of
current compilers. Exits with status 3, without a file, if they are missing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

KERNEL = Path(__file__).parents[1] / "kernel"
TARGET = KERNEL / "target" / "coverage"
TEST = ("cargo", "test", "--workspace", "--lib", "--tests")
OLDEST_LLVM, NEWEST_LLVM = 19, 40
TESTS = r"-ignore-filename-regex=(/tests/.*|_tests\.rs|/testing\.rs)$"
MISSING = 3


def main(summary: Path) -> int:
    """Measures, and returns the exit status."""
    summary.unlink(missing_ok=True)
    profiles, reader = find_tool("llvm-profdata"), find_tool("llvm-cov")
    if shutil.which("cargo") is None or profiles is None or reader is None:
        print("Rust is not measured: `rustup component add llvm-tools` installs what is missing")
        return MISSING
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(TARGET)),
            "RUSTFLAGS": "-C instrument-coverage",
            "LLVM_PROFILE_FILE": str(folder / "build" / "%p-%m.profraw"),
        }
        built = subprocess.run(
            [*TEST, "--no-run", "--message-format=json"],
            cwd=KERNEL,
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout.decode()
        environment["LLVM_PROFILE_FILE"] = str(folder / "tests" / "%p-%m.profraw")
        subprocess.run([*TEST, "--quiet"], cwd=KERNEL, env=environment, check=True)
        merged = folder / "merged.profdata"
        raw = sorted((folder / "tests").iterdir())
        subprocess.run([profiles, "merge", "-sparse", "-o", merged, *raw], check=True)
        command = [reader, "export", "-summary-only", f"-instr-profile={merged}", TESTS]
        objects = [part for path in test_programs(built) for part in ("-object", path)]
        exported = subprocess.run(
            [*command, *objects, "-sources", *sorted(KERNEL.glob("*/src"))],
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
    summary.parent.mkdir(parents=True, exist_ok=True)
    summary.write_bytes(exported)
    return 0


def find_tool(name: str) -> str | None:
    """Returns the path of one of LLVM's tools, None if there is none that is new enough."""
    if shutil.which("rustc") is not None:
        printed = subprocess.run(
            ["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True
        ).stdout
        for path in Path(printed.strip()).glob(f"lib/rustlib/*/bin/{name}"):
            return str(path)
    versions = range(NEWEST_LLVM, OLDEST_LLVM - 1, -1)
    return next(filter(None, (shutil.which(f"{name}-{version}") for version in versions)), None)


def test_programs(messages: str) -> Iterator[str]:
    """Yields the paths of the programs that cargo has built, from its messages."""
    for line in messages.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["executable"]:
            yield message["executable"]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
