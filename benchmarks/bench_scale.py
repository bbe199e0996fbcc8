"""Benchmarks what grows with a repository: its objects, changes, history, branches, staged changes.

    bench_scale.py [--objects N ...] [--history N ...] [--branches N ...] [--staged N ...]
                   [--json FILE] [--folder FOLDER]

Each size is measured in a process of its own, by processor time of that process, which other
programs hardly change; a server's by that of the server. With `--json`, the figures are put into
FILE beside those of other sizes, and `scale_plots.py` draws them. FOLDER, a temporary one by
default, needs 100 bytes for each object; a lake that it has from an earlier run is used again.

    bench_scale.py --objects 10000 1000000 10000000 --history 1000 10000 100000 \\
        --branches 100 10000 100000 --staged 10000 1000000 --json scale.json
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from scale.figures import Figure
from scale.large_trees import look_ups, of_changes, of_lake, of_server
from scale.many_references import of_branches, of_history
from scale.staged_changes import of_staged


class Section(NamedTuple):
    """What is measured of one size, in a folder that the measurements share."""

    name: str
    measures: tuple[Callable[[Path, int], Iterator[Figure]], ...]
    default: int


SECTIONS = (
    Section("objects", (look_ups, of_changes, of_lake, of_server), 10_000),
    Section("history", (of_history,), 3_000),
    Section("branches", (of_branches,), 1_000),
    Section("staged", (of_staged,), 10_000),
)


def _measure(
    measure: Callable[[Path, int], Iterator[Figure]], folder: Path, size: int, line: Connection
) -> None:
    for figure in measure(folder, size):
        line.send(tuple(figure))
    line.send(None)


def figures(
    measure: Callable[[Path, int], Iterator[Figure]], folder: Path, size: int
) -> Iterator[Figure]:
    """Yields what a process of its own measures."""
    context = multiprocessing.get_context("spawn")
    line, theirs = multiprocessing.Pipe()
    process = context.Process(target=_measure, args=(measure, folder, size, theirs))
    process.start()
    theirs.close()
    while (values := line.recv()) is not None:
        yield Figure(*values)
    process.join()


def measure(section: Section, size: int, root: Path) -> Iterator[Figure]:
    """Yields and prints the figures of a size. Of an earlier run only objects are used again."""
    folder = root / f"{section.name}-{size}"
    if section.name != "objects":
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{section.name}: {size:,}", flush=True)
    for each in section.measures:
        for figure in figures(each, folder, size):
            print(f"  {figure.name:<56} {figure.value:>14,.3f} {figure.unit}", flush=True)
            yield figure


def put(file: Path, section: Section, size: int, measured: list[Figure]) -> None:
    """Puts figures into a file beside those of other sizes."""
    results: dict[str, dict[str, dict[str, list[object]]]] = {}
    if file.exists():
        results = json.loads(file.read_text())["figures"]
    for name, value, unit in measured:
        sizes = results.setdefault(section.name, {}).setdefault(name, {})
        sizes[str(size)] = [round(value, 5), unit]
    content = {"machine": machine(), "figures": results}
    file.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def machine() -> str:
    """Returns a description of this machine."""
    text = Path("/proc/cpuinfo").read_text()
    models = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return f"{len(models)} hardware threads, {models[0]}, Linux {platform.release()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for section in SECTIONS:
        parser.add_argument(f"--{section.name}", type=int, nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    chosen = {section.name: getattr(options, section.name) for section in SECTIONS}
    if all(sizes is None for sizes in chosen.values()):
        chosen = {section.name: [section.default] for section in SECTIONS}
    for section in SECTIONS:
        for size in chosen[section.name] or ():
            with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as fresh:
                measured = list(measure(section, size, options.folder or Path(fresh)))
            if options.json:
                put(options.json, section, size, measured)


if __name__ == "__main__":
    main()
