"""Compares two checkouts: server processor time per operation, in alternating turns of one run.

    python benchmarks/compare_checkouts.py --before ../before --after .

Each checkout must be built (`make install`, or its kernel copied into `src/anabranch`). Each server
uses its own folder on the disk of TMPDIR. The turns alternate so that both run at the same speed of
the machine. A ratio above 1 means that `--after` uses more. Repeat the run before you rely on a
difference of a few hundredths; more `--rounds` reduce the noise. With `--database postgres` each
server has a PostgreSQL of its own, whose processor time is included.
"""

from __future__ import annotations

import argparse
import statistics
from contextlib import ExitStack
from pathlib import Path

from compared_operations import Round, alternating_rounds, chosen
from compared_servers import Conditions, our_server, temporary_folder

FORM = "{:34} {:>12} {:>12} {:>8} {:>16}"


def summary(rounds: list[Round]) -> tuple[float, float, list[float]]:
    """Returns the median processor times before and after, and the sorted ratios of the rounds."""
    ratios = sorted(each.other_cpu / each.cpu if each.cpu else 1.0 for each in rounds)
    first = statistics.median(each.cpu for each in rounds)
    second = statistics.median(each.other_cpu for each in rounds)
    return first, second, ratios


def source_of(checkout: Path) -> Path:
    """Returns the folder of a checkout's package. Raises SystemExit for one that is not built."""
    source = checkout.resolve() / "src"
    if not list((source / "anabranch").glob("_kernel*.so")):
        raise SystemExit(f"{checkout} has no kernel: run `make install` there")
    return source


def main() -> None:
    """Runs the comparison and prints a line for each operation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, required=True, help="the checkout to compare with")
    parser.add_argument("--after", type=Path, default=Path(), help="the checkout to judge")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each turn")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each checkout")
    parser.add_argument(
        "--only", nargs="+", help="measure operations whose names hold one of these"
    )
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    given = parser.parse_args()
    with ExitStack() as stack:
        conditions = Conditions.prepare(stack, given.database, given.seconds)
        before, after = (
            stack.enter_context(our_server(temporary_folder(stack), conditions, source=source))
            for source in map(source_of, (given.before, given.after))
        )
        print(
            FORM.format("server CPU per operation", "before us", "after us", "ratio", "quartiles")
        )
        for one, other in chosen(before, after, given.only):
            first, second, ratios = summary(alternating_rounds(one, other, given.rounds))
            quarter = len(ratios) // 4
            print(
                FORM.format(
                    one[1].name,
                    f"{first * 1e6:,.0f}",
                    f"{second * 1e6:,.0f}",
                    f"{statistics.median(ratios):.3f}",
                    f"{ratios[quarter]:.2f} - {ratios[-1 - quarter]:.2f}",
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
