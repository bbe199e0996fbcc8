"""Tables of a page in Markdown between two marks, such as `<!-- kinds: begin -->` and its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def markdown_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Returns a table in Markdown, whose cells are given as Markdown."""
    lines = (" | ".join(cells) for cells in (head, ("---",) * len(head), *rows))
    return "\n".join(f"| {line} |" for line in lines)


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """Returns a page with each table between the marks of its name.

    Raises `ValueError` if the page lacks one of the marks.
    """
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, found, rest = page.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise ValueError(f"the page has no marks {begin} and {end}, in this order")
        page = f"{before}{begin}\n{table}\n{end}{after}"
    return page
