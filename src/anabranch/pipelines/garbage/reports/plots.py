"""Plots of a report: bars as inline SVG, labelled with their values.

The exact numbers are in a table below each plot. All names are escaped, including characters that a
page cannot display.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

from anabranch.pipelines.garbage.totals import ObjectTotals

__all__ = ["Bar", "bars", "columns", "escape", "format_size", "format_totals"]

_WIDTH, _ROW, _LABEL, _VALUES = 760, 26, 220, 190
_HEIGHT, _FOOT = 180, 40
_MAX_LABEL_LENGTH = 30
_MAX_LABELS = 12
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_KIB = 1024

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


class Bar(NamedTuple):
    """A plotted value: its name and its totals."""

    name: str
    amount: ObjectTotals


def escape(name: str) -> str:
    """Returns a name escaped for HTML, with unprintable characters as escaped code points."""
    visible = _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", name)
    return html.escape(visible, quote=True)


def format_size(size: int) -> str:
    """Returns a number of bytes in a binary unit, such as `1.5 MiB`."""
    value, unit = float(size), 0
    while value >= _KIB and unit + 1 < len(_UNITS):
        value, unit = value / _KIB, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} B"


def format_totals(amount: ObjectTotals) -> str:
    """Returns totals as a text, such as `1.5 MiB, 3 objects`."""
    objects = f"{amount.objects:,} object{'' if amount.objects == 1 else 's'}"
    return f"{format_size(amount.bytes)}, {objects}"


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Returns a plot of horizontal bars, whose lengths are proportional to their bytes."""
    largest = max((row.amount.bytes for row in rows), default=0)
    max_length = _WIDTH - _LABEL - _VALUES
    parts = []
    for number, row in enumerate(rows):
        top = number * _ROW
        length = _length(row.amount.bytes, largest, max_length)
        parts.append(
            f"<g><title>{escape(row.name)}: {format_totals(row.amount)}</title>"
            f'<text x="{_LABEL - 8}" y="{top + 17}" text-anchor="end">{_shorten(row.name)}</text>'
            f'<rect x="{_LABEL}" y="{top + 4}" width="{length:.1f}" height="{_ROW - 8}"/>'
            f'<text x="{_LABEL + length + 8:.1f}" y="{top + 17}">{format_totals(row.amount)}</text>'
            "</g>"
        )
    return _svg(title, max(1, len(rows)) * _ROW, parts)


def columns(title: str, rows: Sequence[Bar]) -> str:
    """Returns a plot of columns, whose heights are proportional to their bytes; if there are many,
    only some have labels.
    """
    largest = max((row.amount.bytes for row in rows), default=0)
    width = _WIDTH / max(1, len(rows))
    every = max(1, -(-len(rows) // _MAX_LABELS))
    parts = []
    for number, row in enumerate(rows):
        left, height = number * width, _length(row.amount.bytes, largest, _HEIGHT)
        parts.append(
            f"<g><title>{escape(row.name)}: {format_totals(row.amount)}</title>"
            f'<rect x="{left + 1:.1f}" y="{_HEIGHT - height:.1f}" '
            f'width="{max(1.0, min(width - 2, 60)):.1f}" height="{height:.1f}"/>'
        )
        if number % every == 0:
            parts.append(f'<text x="{left + 1:.1f}" y="{_HEIGHT + 18}">{_shorten(row.name)}</text>')
        parts.append("</g>")
    return _svg(title, _HEIGHT + _FOOT, parts)


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {_WIDTH} {height}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _length(size: int, largest: int, max_length: int) -> float:
    """Returns the length of a bar, at least 1 for a size above zero, so that it is visible."""
    return max(1.0, max_length * size / largest) if largest and size else 0.0


def _shorten(name: str) -> str:
    return escape(name if len(name) <= _MAX_LABEL_LENGTH else f"{name[: _MAX_LABEL_LENGTH - 1]}…")
