"""Plots of a report: bars, as inline SVG, with the figure of each written beside it.

A plot is for the eye; the exact numbers stand in a table under it. Every name is escaped, as is
whatever in it no page can show.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

from anabranch.pipelines.garbage.object_totals import ObjectTotals

__all__ = ["Bar", "amount_text", "bars", "columns", "shown", "size_text"]

_WIDTH, _ROW, _LABEL, _FIGURES = 760, 26, 220, 190
_HEIGHT, _FOOT = 180, 40
_LONGEST = 30
_MOST_LABELS = 12
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_KIB = 1024

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


class Bar(NamedTuple):
    """What is plotted: a name, and how much that is."""

    name: str
    amount: ObjectTotals


def shown(name: str) -> str:
    """Returns a name as HTML: escaped, and what cannot be printed as its number."""
    visible = _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", name)
    return html.escape(visible, quote=True)


def size_text(size: int) -> str:
    """Returns a number of bytes in a unit that people read."""
    value, unit = float(size), 0
    while value >= _KIB and unit + 1 < len(_UNITS):
        value, unit = value / _KIB, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} B"


def amount_text(amount: ObjectTotals) -> str:
    """Returns an amount as people read it."""
    objects = f"{amount.objects:,} object{'' if amount.objects == 1 else 's'}"
    return f"{size_text(amount.bytes)}, {objects}"


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Returns bars one under the other, as long as their bytes are many."""
    most = max((row.amount.bytes for row in rows), default=0)
    room = _WIDTH - _LABEL - _FIGURES
    parts = []
    for number, row in enumerate(rows):
        top = number * _ROW
        length = _length(row.amount.bytes, most, room)
        parts.append(
            f"<g><title>{shown(row.name)}: {amount_text(row.amount)}</title>"
            f'<text x="{_LABEL - 8}" y="{top + 17}" text-anchor="end">{_short(row.name)}</text>'
            f'<rect x="{_LABEL}" y="{top + 4}" width="{length:.1f}" height="{_ROW - 8}"/>'
            f'<text x="{_LABEL + length + 8:.1f}" y="{top + 17}">{amount_text(row.amount)}</text>'
            "</g>"
        )
    return _svg(title, max(1, len(rows)) * _ROW, parts)


def columns(title: str, rows: Sequence[Bar]) -> str:
    """Returns columns side by side, as high as their bytes are many; some are labelled."""
    most = max((row.amount.bytes for row in rows), default=0)
    width = _WIDTH / max(1, len(rows))
    every = max(1, -(-len(rows) // _MOST_LABELS))
    parts = []
    for number, row in enumerate(rows):
        left, height = number * width, _length(row.amount.bytes, most, _HEIGHT)
        parts.append(
            f"<g><title>{shown(row.name)}: {amount_text(row.amount)}</title>"
            f'<rect x="{left + 1:.1f}" y="{_HEIGHT - height:.1f}" '
            f'width="{max(1.0, min(width - 2, 60)):.1f}" height="{height:.1f}"/>'
        )
        if number % every == 0:
            parts.append(f'<text x="{left + 1:.1f}" y="{_HEIGHT + 18}">{_short(row.name)}</text>')
        parts.append("</g>")
    return _svg(title, _HEIGHT + _FOOT, parts)


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-label="{shown(title)}" viewBox="0 0 {_WIDTH} {height}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _length(size: int, most: int, room: int) -> float:
    """Returns how long a bar is; one that stands for something is seen."""
    return max(1.0, room * size / most) if most and size else 0.0


def _short(name: str) -> str:
    return shown(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…")
