"""Writes docs/coverage.md from what was measured, and requires a reason for low coverage.

Usage: python tools/coverage_page.py [--page FILE] [--reasons FILE] --python FILE [--rust FILE]
[--typescript FILE]: the JSON reports of coverage.py and llvm-cov, and the summary of vitest. Exits
with status 1 if a file below 80 % has no reason, or a reason names no measured file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LOW_PERCENT = 80
SOURCES = {"Python": "src/anabranch", "Rust": "kernel", "TypeScript": "web/src"}
HEAD = """# Coverage

Which part of the lines of each package the tests run. `make coverage` measures it and generates
this page. There is no least value: the figures show where to look, and each file below
{low} % has a reason, in `tools/coverage_reasons.toml`.

- Python: `make test` and `make test-systems`, with the servers and other processes that they start.
  A process that is killed, or that starts without the environment, leaves no figures.
- Rust: the kernel's own tests, which do not compile its bindings, `kernel/python/`. The tests
  in Python, which run the whole kernel, are not counted; lines of tests within a file are.
- TypeScript: the tests of the pages' logic without a browser, not those that drive the pages.
"""


class File(NamedTuple):
    """How many lines a file has that can run, and how many of them ran."""

    path: str
    lines: int
    covered: int

    @property
    def percent(self) -> int:
        """The covered part, rounded down; 100 for a file without such lines."""
        return 100 * self.covered // self.lines if self.lines else 100


def main(arguments: Sequence[str]) -> int:
    """Writes the page, prints what is wrong, and returns the exit status."""
    parser = argparse.ArgumentParser(prog="coverage_page")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "coverage.md")
    parser.add_argument(
        "--reasons", type=Path, default=ROOT / "tools" / "coverage_reasons.toml", metavar="TOML"
    )
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--rust", type=Path)
    parser.add_argument("--typescript", type=Path)
    options = parser.parse_args(arguments)
    measured = {
        "Python": read(read_python, options.python),
        "Rust": read(read_rust, options.rust),
        "TypeScript": read(read_typescript, options.typescript),
    }
    reasons = tomllib.loads(options.reasons.read_text(encoding="utf-8"))
    options.page.write_text(page(measured, reasons), encoding="utf-8")
    problems = list(find_problems(measured, reasons))
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


def read(reader: Callable[[Path], Iterator[File]], report: Path | None) -> list[File]:
    """Returns the files of a report, none if there is no report."""
    return list(reader(report)) if report is not None and report.is_file() else []


def read_python(report: Path) -> Iterator[File]:
    """Yields the files of a JSON report of coverage.py."""
    for path, found in json.loads(report.read_bytes())["files"].items():
        summary = found["summary"]
        yield File(relative(path), summary["num_statements"], summary["covered_lines"])


def read_rust(report: Path) -> Iterator[File]:
    """Yields the kernel's files of a summary that llvm-cov has exported."""
    for found in json.loads(report.read_bytes())["data"][0]["files"]:
        lines = found["summary"]["lines"]
        yield File(relative(found["filename"]), lines["count"], lines["covered"])


def read_typescript(report: Path) -> Iterator[File]:
    """Yields the files of vitest's reporter json-summary."""
    for path, found in json.loads(report.read_bytes()).items():
        if path != "total":
            yield File(relative(path), found["lines"]["total"], found["lines"]["covered"])


def relative(path: str) -> str:
    """Returns a path from the checkout on, unchanged if it is one."""
    place = Path(path)
    return (place.relative_to(ROOT) if place.is_absolute() else place).as_posix()


def page(measured: Mapping[str, Sequence[File]], reasons: Mapping[str, str]) -> str:
    """Returns the text of the page."""
    parts = [HEAD.format(low=LOW_PERCENT)]
    for language, files in measured.items():
        parts.append(f"\n## {language}\n\n")
        parts.append(packages(SOURCES[language], files) if files else "Not measured.\n")
    parts.append(
        f"\n## Files below {LOW_PERCENT} %\n\n| File | Covered | Reason |\n|---|---|---|\n"
    )
    for file in low(measured):
        reason = reasons.get(file.path, "")
        parts.append(f"| `{file.path}` | {file.percent} % | {reason} |\n")
    return "".join(parts)


def packages(source: str, files: Sequence[File]) -> str:
    """Returns the table of the packages: the folders in the folder `source`, or in its crates."""
    grouped = defaultdict(list)
    for file in files:
        # only the kernel has crates in its folder, each with a folder `src`
        crate, _, path = file.path.removeprefix(f"{source}/").rpartition("/src/")
        folder = path.partition("/")[0] if "/" in path else ""
        package = "".join(f"{name}/" for name in (crate, folder) if name)
        grouped[package or "modules beside the packages"].append(file)
    rows = ["| Package | Files | Lines | Covered |\n|---|---|---|---|\n"]
    for package, within in sorted(grouped.items()):
        total = total_of(package, within)
        rows.append(f"| {package} | {len(within)} | {total.lines} | {total.percent} % |\n")
    total = total_of("all", files)
    rows.append(f"| **all** | {len(files)} | {total.lines} | {total.percent} % |\n")
    return "".join(rows)


def total_of(name: str, files: Sequence[File]) -> File:
    """Returns the sum of several files."""
    return File(name, sum(file.lines for file in files), sum(file.covered for file in files))


def low(measured: Mapping[str, Sequence[File]]) -> list[File]:
    """Returns the files below the percentage that needs a reason, by path."""
    files = (file for files in measured.values() for file in files)
    return sorted(file for file in files if file.percent < LOW_PERCENT)


def find_problems(
    measured: Mapping[str, Sequence[File]], reasons: Mapping[str, str]
) -> Iterator[str]:
    """Yields a sentence for each reason that is missing or names no file."""
    for file in low(measured):
        if not reasons.get(file.path):
            yield f"{file.path}: {file.percent} % of its lines are covered, for no given reason"
    for path in reasons:
        if not (ROOT / path).is_file():
            yield f"{path}: there is a reason for its low coverage, but no such file"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
