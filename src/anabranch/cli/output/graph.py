"""Draws a history: each commit a dot in its own row, each parent a line down to it.

    ●   a merge: its first parent goes straight down, the others fork off to the side
    ├─╮
    │ ●   a commit of the merged branch
    ● │   a commit of the main line
    ├─╯   both came from the same commit: the right line joins the left one
    ●

Every column holds a *lane*: the commit that its line leads down to. A commit stands in the
leftmost lane that awaits it. Between commits stand link rows, and the rule that keeps them
readable is that all horizontal strokes of a link row belong to one knot: either the lines that
fork off the commit above, or one lane that moves left. A `│` with strokes on both sides is a
line that passes over them untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

__all__ = ["Node", "draw"]


class Node(NamedTuple):
    """A commit to be drawn: its id and those of its parents."""

    id: str
    parents: tuple[str, ...]


_Lanes = list[str | None]

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_STROKES = {
    _UP | _DOWN: "│",
    _UP | _DOWN | _RIGHT: "├",
    _UP | _DOWN | _LEFT: "┤",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
    _DOWN | _LEFT: "╮",
    _DOWN | _RIGHT: "╭",
    _DOWN | _LEFT | _RIGHT: "┬",
    _UP | _LEFT: "╯",
    _LEFT | _RIGHT: "─",
}


def draw(nodes: Iterable[Node]) -> Iterator[tuple[str, str | None]]:
    """Yields the rows of the picture from top to bottom, each with the id of its commit, None
    for a link row. Children must come before their parents. Lines to parents that never come
    run on to the bottom.
    """
    lanes: _Lanes = []
    ended = -1
    for node in nodes:
        is_tip = node.id not in lanes
        column = _find_column(lanes, node.id)
        if is_tip and column == ended:
            # right below the end of another line it would look like that line's next commit
            yield _row(lanes, column, " "), None
        yield _row(lanes, column, "●"), node.id
        parents = tuple(dict.fromkeys(node.parents))
        ended = -1 if parents else column
        lanes[column] = parents[0] if parents else None
        if len(parents) > 1:
            yield _fork(lanes, column, parents[1:]), None
        if parents:
            link = _move_left(lanes, column)
            if link:
                yield link, None
        while lanes and lanes[-1] is None:
            lanes.pop()


def _find_column(lanes: _Lanes, commit: str) -> int:
    """Returns the lane that awaits the commit, or takes the leftmost free one for a new tip."""
    if commit not in lanes:
        column = lanes.index(None) if None in lanes else len(lanes)
        _put(lanes, column, commit)
        return column
    return lanes.index(commit)


def _put(lanes: _Lanes, column: int, commit: str) -> None:
    if column == len(lanes):
        lanes.append(commit)
    else:
        lanes[column] = commit


def _row(lanes: _Lanes, column: int, mark: str) -> str:
    cells = ["│" if lane is not None else " " for lane in lanes]
    cells[column] = mark
    return " ".join(cells).rstrip()


def _fork(lanes: _Lanes, column: int, parents: Sequence[str]) -> str:
    """Leads lines from `column` to the lanes of further parents, new ones where none awaits
    them yet, and returns the link row.
    """
    before = [lane is not None for lane in lanes]
    targets = []
    for parent in parents:
        target = lanes.index(parent) if parent in lanes else _nearest_free(lanes, column)
        _put(lanes, target, parent)
        targets.append(target)
    strokes = {column: _UP | _DOWN}
    for target in targets:
        is_old = target < len(before) and before[target]
        strokes[target] = _DOWN | (_UP if is_old else 0)
    return _link(lanes, strokes)


def _nearest_free(lanes: _Lanes, column: int) -> int:
    """Returns the free column nearest to `column`, of two the right one."""
    free = [index for index, lane in enumerate(lanes) if lane is None]
    return min([*free, len(lanes)], key=lambda index: (abs(index - column), -index))


def _move_left(lanes: _Lanes, column: int) -> str:
    """Joins the lane in `column` with another one that leads to the same commit, or moves it
    into free columns beside it, and returns the link row; empty if it can stay.
    """
    same = [index for index, lane in enumerate(lanes) if lane == lanes[column]]
    if len(same) > 1:
        target, source = same
        strokes = {target: _UP | _DOWN, source: _UP}
    else:
        target = source = column
        while target and lanes[target - 1] is None:
            target -= 1
        if target == source:
            return ""
        strokes = {target: _DOWN, source: _UP}
    lanes[target], lanes[source] = lanes[source], None
    return _link(lanes, strokes)


def _link(lanes: _Lanes, strokes: dict[int, int]) -> str:
    """Returns a link row: `strokes` says for each column of the knot whether its line goes up
    and down from there; the knot's columns are joined from side to side.
    """
    first, last = min(strokes), max(strokes)
    cells = []
    for column in range(max(len(lanes), last + 1)):
        if column in strokes:
            sides = (_LEFT if column > first else 0) | (_RIGHT if column < last else 0)
            cells.append(_STROKES[strokes[column] | sides])
        elif column < len(lanes) and lanes[column] is not None:
            cells.append("│")
        else:
            cells.append("─" if first < column < last else " ")
        cells.append("─" if first <= column < last else " ")
    return "".join(cells).rstrip()
