"""Compares this checkout's server with a lakeFS on the same machine, in alternating turns.

    python benchmarks/compare_lakefs.py PROGRAM [--only WORDS ...] [--json FILE]

PROGRAM is lakeFS's, as `go build ./cmd/lakefs` makes it. It runs over a local block store and a
local database in a folder on the disk of TMPDIR, as ours does, and is ended. With
`--database postgres` each server has a PostgreSQL of its own, whose processor time is included. A
machine's speed changes from minute to minute, so only measurements from the same seconds can be
compared. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from contextlib import ExitStack
from operator import truediv
from pathlib import Path
from typing import NamedTuple

from compared_operations import Round, Target, alternating_rounds, chosen
from compared_servers import Conditions, lakefs_server, our_server, temporary_folder

FORM = "{:40} {:>9} {:>8} {:>10} {:>8} {:>6} {:>12} {:>6}"


class Result(NamedTuple):
    """The rounds of an operation, here and of lakeFS."""

    rounds: list[Round]

    def cells(self) -> list[str]:
        """Returns the medians, the median of the ratios of processor time, their quartiles, and the
        ratio of the least of both, on which other programs have the least influence.
        """
        here, wait, lakefs, lakefs_wait = map(list, zip(*self.rounds, strict=True))
        ratios = sorted(map(truediv, here, lakefs))
        quarter = len(ratios) // 4
        return [
            f"{statistics.median(here) * 1e6:,.0f}",
            f"{statistics.median(wait) * 1e3:.2f}",
            f"{statistics.median(lakefs) * 1e6:,.0f}",
            f"{statistics.median(lakefs_wait) * 1e3:.2f}",
            f"{statistics.median(ratios):.2f}",
            f"{ratios[quarter]:.2f} - {ratios[-1 - quarter]:.2f}",
            f"{min(here) / min(lakefs):.2f}",
        ]


def run(given: argparse.Namespace, ours: Target, theirs: Target) -> dict[str, Result]:
    """Prints a line for each operation; returns the results by their names."""
    results = {}
    heads = ("here us", "p50 ms", "lakeFS us", "p50 ms", "ratio", "quartiles", "least")
    print(FORM.format("server CPU", *heads))
    for mine, other in chosen(ours, theirs, given.only):
        result = Result(alternating_rounds(mine, other, given.rounds))
        name = mine[1].name
        results[name] = result
        print(FORM.format(name, *result.cells()), flush=True)
    return results


def main() -> None:
    """Runs the measurements and prints medians over rounds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", help="lakeFS's")
    parser.add_argument(
        "--database",
        choices=("sqlite", "postgres"),
        default="sqlite",
        help="ours; lakeFS's is its own or PostgreSQL",
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", nargs="+", help="measure operations whose names hold one of these"
    )
    parser.add_argument("--json", type=Path, help="where the results go as well")
    given = parser.parse_args()
    os.environ.pop("FORKED_TEST_SERVERS", None)
    with ExitStack() as stack:
        conditions = Conditions.prepare(stack, given.database, given.seconds)
        here, there = (temporary_folder(stack) for _ in range(2))
        ours = stack.enter_context(our_server(here, conditions))
        theirs = stack.enter_context(lakefs_server(given.program, there, conditions))
        results = run(given, ours, theirs)
    if given.json:
        given.json.write_text(json.dumps({name: each._asdict() for name, each in results.items()}))


if __name__ == "__main__":
    main()
