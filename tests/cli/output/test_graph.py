"""The picture of a history: exact drawings of known shapes, and properties of any shape.

The properties are checked by reading the picture back: a walker that knows only what the strokes
look like follows every line from each commit down to the next commits it meets.
"""

from __future__ import annotations

from inspect import cleandoc

from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.cli.output.graph import Node, draw
from anabranch.cli.output.history import in_drawing_order, simplify


def history(text: str) -> list[Node]:
    """Reads "M: a b" lines, newest commit first."""
    nodes = []
    for line in text.strip().splitlines():
        name, _, parents = line.partition(":")
        nodes.append(Node(name.strip(), tuple(parents.split())))
    return nodes


def picture(nodes: list[Node]) -> str:
    return "\n".join(f"{row} {commit}" if commit else row for row, commit in draw(nodes))


def test_linear_history_is_one_column():
    assert picture(history("c: b\nb: a\na:")) == "● c\n● b\n● a"


def test_a_merge_forks_and_joins():
    assert picture(history("m: a b\nb: r\na: r\nr:")) == cleandoc("""
        ● m
        ├─╮
        │ ● b
        ● │ a
        ├─╯
        ● r
    """)


def test_a_merge_of_a_branch_while_nothing_else_happened():
    assert picture(history("m: r b\nb: r\nr:")) == cleandoc("""
        ● m
        ├─╮
        │ ● b
        ├─╯
        ● r
    """)


def test_three_parents():
    assert picture(history("m: a b c\nc: r\nb: r\na: r\nr:")) == cleandoc("""
        ● m
        ├─┬─╮
        │ │ ● c
        │ ● │ b
        │ ├─╯
        ● │ a
        ├─╯
        ● r
    """)


def test_criss_cross():
    nodes = history("x: p q\nq: b a\np: a b\nb: r\na: r\nr:")
    assert picture(in_drawing_order(nodes)) == cleandoc("""
        ● x
        ├─╮
        │ ● q
        │ ├─╮
        ● │ │ p
        ├─┤ │
        ├─│─╯
        │ ● b
        ● │ a
        ├─╯
        ● r
    """)


def test_two_histories_without_a_common_commit_do_not_touch():
    assert picture(history("a:\nb: c\nc:")) == "● a\n\n● b\n● c"


def test_a_line_passes_over_another_untouched():
    assert picture(history("m: a b c\na: c\nb: d\nc: d\nd:")) == cleandoc("""
        ● m
        ├─┬─╮
        ● │ │ a
        ├─│─╯
        │ ● b
        ● │ c
        ├─╯
        ● d
    """)


def test_parents_that_never_come_run_on_to_the_bottom():
    assert picture(history("m: a b\na: x")) == cleandoc("""
        ● m
        ├─╮
        ● │ a
    """)


def test_drawing_order_puts_children_first_even_with_wrong_clocks():
    nodes = history("m: a b\na: r\nr:\nb: r")
    assert [node.id for node in in_drawing_order(nodes)] == ["m", "b", "a", "r"]


def test_left_out_commits_leave_their_edges():
    nodes = history("d: c x\nx: b\nc: b\nb: a\na:")
    assert simplify(nodes, {"d", "b", "a"}) == history("d: b\nb: a\na:")
    assert simplify(nodes, {"d", "x", "a"}) == history("d: a x\nx: a\na:")


# --- reading the picture back -----------------------------------------------------------------

DOWN, UP, LEFT, RIGHT = (1, 0), (-1, 0), (0, -1), (0, 1)
OPEN = {
    "│": {UP, DOWN},
    "─": {LEFT, RIGHT},
    "├": {UP, DOWN, RIGHT},
    "┤": {UP, DOWN, LEFT},
    "┼": {UP, DOWN, LEFT, RIGHT},
    "╮": {LEFT, DOWN},
    "╭": {RIGHT, DOWN},
    "┬": {LEFT, RIGHT, DOWN},
    "╯": {LEFT, UP},
    "●": {UP, DOWN},
}


class Picture:
    def __init__(self, nodes: list[Node]) -> None:
        rows = list(draw(nodes))
        self.rows = [row for row, _ in rows]
        self.commit_rows = {index: commit for index, (_, commit) in enumerate(rows) if commit}

    def at(self, row: int, column: int) -> str:
        in_picture = row < len(self.rows) and column < len(self.rows[row])
        return self.rows[row][column] if in_picture else " "

    def knot(self, row: int, column: int) -> list[int]:
        """Returns the columns that the horizontal strokes at a place join, bridges left out."""
        ends = []
        for step, side, back in ((-1, LEFT, RIGHT), (1, RIGHT, LEFT)):
            here = column
            while side in OPEN[self.at(row, here)] or self.at(row, here) == "│":
                here += step
                stroke = self.at(row, here)
                if stroke in "│─":
                    continue
                assert back in OPEN[stroke], f"a stroke of row {row} leads nowhere"
                ends.append(here)
        return sorted({column, *ends})

    def children_below(self, row: int, column: int) -> set[str]:
        """Follows the line that leaves a place downwards to all commits it leads to."""
        found = set()
        pending = [(row + 1, column)]
        first = True
        while pending:
            row, column = pending.pop()
            stroke = self.at(row, column)
            if stroke == " ":
                continue
            if stroke == "●":
                found.add(self.commit_rows[row])
                continue
            if stroke == "│":
                pending.append((row + 1, column))
                continue
            assert UP in OPEN[stroke], "a line from above meets nothing"
            columns = self.knot(row, column)
            source = self.rows[row - 1].find("●") if row - 1 in self.commit_rows else -1
            if first and source == column and not self.is_join(row, columns):
                pending += [(row + 1, c) for c in columns if DOWN in OPEN[self.at(row, c)]]
            elif self.is_join(row, columns):
                pending.append((row + 1, columns[0]))
            else:
                pending.append((row + 1, column))
            first = False
        return found

    def is_join(self, row: int, columns: list[int]) -> bool:
        return self.at(row, columns[-1]) == "╯"


def edges_drawn(nodes: list[Node]) -> dict[str, set[str]]:
    drawing = Picture(nodes)
    return {
        commit: drawing.children_below(row, drawing.rows[row].index("●"))
        for row, commit in drawing.commit_rows.items()
    }


def edges_of(nodes: list[Node]) -> dict[str, set[str]]:
    shown = {node.id for node in nodes}
    return {node.id: set(node.parents) & shown for node in nodes}


@st.composite
def histories(draw_value) -> list[Node]:
    """Any histories, the oldest commit first: several roots, merges of up to four parents."""
    count = draw_value(st.integers(1, 16))
    nodes = []
    for number in range(count):
        most = min(number, draw_value(st.sampled_from([1, 1, 1, 2, 2, 3, 4])))
        back = st.integers(1, max(1, min(number, 8)))
        chosen = draw_value(st.lists(back, min_size=min(1, most), max_size=most, unique=True))
        nodes.append(Node(f"c{number}", tuple(f"c{number - step}" for step in chosen)))
    return nodes


@given(histories(), st.randoms())
@settings(max_examples=examples(200), deadline=None)
def test_every_commit_has_one_row_and_every_edge_its_line(nodes, random):
    random.shuffle(nodes)
    ordered = in_drawing_order(nodes)
    assert sorted(ordered) == sorted(nodes)
    seen: set[str] = set()
    for node in ordered:
        assert not seen & set(node.parents)
        seen.add(node.id)
    rows = list(draw(ordered))
    assert [commit for _, commit in rows if commit] == [node.id for node in ordered]
    assert all(("●" in row) == (commit is not None) for row, commit in rows)
    assert all(row.count("●") <= 1 for row, _ in rows)
    assert edges_drawn(ordered) == edges_of(ordered)


@given(histories(), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_a_history_with_commits_left_out_keeps_who_descends_from_whom(nodes, data):
    kept = {node.id for node in nodes if data.draw(st.booleans())}
    parents = {node.id: node.parents for node in nodes}

    def nearest(commit: str) -> set[str]:
        ups = set()
        for parent in parents[commit]:
            ups |= {parent} if parent in kept else nearest(parent)
        return ups

    result = simplify(nodes, kept)
    assert {node.id for node in result} == kept
    assert all(set(node.parents) == nearest(node.id) for node in result)
    assert edges_drawn(result) == edges_of(result)


@given(st.integers(1, 30))
def test_linear_history_needs_one_column(length):
    nodes = [Node(str(n), (str(n - 1),) if n else ()) for n in reversed(range(length))]
    assert [row for row, _ in draw(nodes)] == ["●"] * length
