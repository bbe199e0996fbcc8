"""Compares a server of one process with one of two, in alternating turns.

    python benchmarks/compare_workers.py [--seconds N] [--rounds N]

The rate that two idle cores would have follows from the processor time: two cores over that of an
operation by two workers, one core over that by one. Measured rates mean little where client and
server share two hardware threads. With two workers, each has half of the requests in flight.
"""

from __future__ import annotations

import argparse
import statistics
from contextlib import ExitStack

from compared_operations import alternating_rounds, chosen
from compared_servers import Conditions, our_server, temporary_folder

OPERATIONS = (
    "stat at a commit, 16",
    "stat, 16",
    "PUT of 1 KiB (REST), 16",
    "PUT of 1 KiB (S3), 16",
)
FORM = "{:36} {:>10} {:>10} {:>12} {:>12} {:>7}"


def main() -> None:
    """Prints a line for each operation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each turn")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with ExitStack() as stack:
        conditions = Conditions.prepare(stack, "sqlite", given.seconds)
        one, two = (
            stack.enter_context(our_server(temporary_folder(stack), conditions, workers=workers))
            for workers in (1, 2)
        )
        print(FORM.format("server CPU", "1: us", "2: us", "1: by CPU/s", "2: by CPU/s", "gain"))
        for alone, both in chosen(one, two, OPERATIONS):
            rounds = alternating_rounds(alone, both, given.rounds)
            first = statistics.median(each.cpu for each in rounds)
            second = statistics.median(each.other_cpu for each in rounds)
            gain = statistics.median(2 * each.cpu / each.other_cpu for each in rounds)
            rates = f"{1 / first:,.0f}", f"{2 / second:,.0f}"
            cells = f"{first * 1e6:,.0f}", f"{second * 1e6:,.0f}", *rates, f"{gain:.2f}"
            print(FORM.format(alone[1].name, *cells), flush=True)


if __name__ == "__main__":
    main()
