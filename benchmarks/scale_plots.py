"""Draws the figures of `bench_scale.py` as pictures: one for each kind of size.

    scale_plots.py JSON FOLDER

Both axes are logarithmic. A line is a measurement in milliseconds or microseconds; the others are
for tables.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

WIDTH, HEIGHT = 770, 330
LEFT, RIGHT, TOP, BOTTOM = 56, 340, 34, 36
COLORS = ("#0a6cba", "#c2410c", "#15803d", "#7c3aed", "#be185d", "#854d0e", "#0f766e", "#475569")
MILLISECONDS = {"ms": 1.0, "us": 0.001}

LINES = {
    "objects": (
        "Objects of the repository",
        (
            "get, one call each",
            "open a lake, and stat of one object",
            "page of 1,000 objects",
            "commit of 1 change",
            "difference of 10 changes",
            "tree with 1,000 changes, spread",
            "marking, each range is read: an object",
        ),
    ),
    "history": (
        "Commits of the history",
        (
            "main~N, N nine tenths of the history",
            "page of 1,000 commits near the end",
            "merge base, half the history away",
            "last change of an object",
            "log of an object that changed at the beginning",
            "a collection's later pass over the commits: each",
        ),
    ),
    "branches": (
        "Branches",
        (
            "create a branch",
            "delete a branch",
            "page of 100 branches",
            "put and commit of 1 object",
            "a collection's pass over the references: each branch",
        ),
    ),
    "staged": (
        "Staged deletions",
        (
            "a deletion is staged",
            "the first page behind them",
            "page behind them",
            "commit: a change",
        ),
    ),
}


class Line(NamedTuple):
    """A measurement: milliseconds by size."""

    name: str
    points: list[tuple[float, float]]


def lines(measured: dict[str, dict[str, Any]], names: Iterable[str]) -> list[Line]:
    """Returns the lines with these names."""
    found = []
    for name in names:
        points = [
            (float(size), max(value * MILLISECONDS[unit], 1e-5))
            for size, (value, unit) in measured.get(name, {}).items()
        ]
        if points:
            found.append(Line(name, sorted(points)))
    return found


def decades(values: Sequence[float]) -> range:
    """Returns the powers of ten that enclose values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return range(low, max(high, low + 1) + 1)


def picture(title: str, drawn: Sequence[Line]) -> str:
    """Returns an SVG."""
    xs = decades([x for line in drawn for x, _ in line.points])
    ys = decades([y for line in drawn for _, y in line.points])

    def across(x: float) -> float:
        share = (math.log10(x) - xs[0]) / (xs[-1] - xs[0])
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def down(y: float) -> float:
        share = (math.log10(y) - ys[0]) / (ys[-1] - ys[0])
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18" font-size="13">{escape(title)}: milliseconds of CPU</text>',
    ]
    for power in ys:
        y = down(10.0**power)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{10.0**power:g}</text>')
    for power in xs:
        x = across(10.0**power)
        parts.append(f'<path d="M{x} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        label = f"{10**power:,}"
        parts.append(f'<text x="{x}" y="{HEIGHT - 16}" text-anchor="middle">{label}</text>')
    for number, line in enumerate(drawn):
        color = COLORS[number % len(COLORS)]
        points = " ".join(f"{across(x)},{down(y)}" for x, y in line.points)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>'
        )
        parts += [
            f'<circle cx="{across(x)}" cy="{down(y)}" r="2.5" fill="{color}"/>'
            for x, y in line.points
        ]
        y = TOP + 12 + 18 * number
        parts.append(f'<path d="M{WIDTH - RIGHT + 10} {y - 4}h14" stroke="{color}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 28}" y="{y}">{escape(line.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("json", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    figures = json.loads(options.json.read_text())["figures"]
    for section, (title, names) in LINES.items():
        drawn = lines(figures.get(section, {}), names)
        if drawn:
            (options.folder / f"scale-{section}.svg").write_text(picture(title, drawn))


if __name__ == "__main__":
    main()
