"""What Falcon's compiled router and decoder of query strings save, beside the standard library.

    python benchmarks/bench_routing.py

Each figure is the median of seven runs, in microseconds of one thread; the paths are all of the
API's. Falcon is a dependency for these two alone: it stays while they are worth it.
"""

from __future__ import annotations

import re
import statistics
import timeit
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from falcon.routing import CompiledRouter
from falcon.uri import parse_query_string

from anabranch.rest.table import OPERATIONS

RUNS = 7
REPEATS = 20_000
QUERIES = {
    "stat": "path=data%2Fyear%3D2024%2Fpart-0001.parquet&user_metadata=true",
    "listing": "prefix=data%2F&after=&amount=1000&delimiter=%2F",
}


class SegmentTree:
    """A router as one would write it by hand: a dictionary for each segment of a path."""

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}

    def add_route(self, path: str, resource: object) -> None:
        """Adds a path, whose segments in braces are parameters."""
        node = self._root
        for segment in path.strip("/").split("/"):
            node = node.setdefault("{}" if segment.startswith("{") else segment, {})
        node[""] = (resource, re.findall(r"\{(\w+)\}", path))

    def find(self, path: str) -> tuple[object, dict[str, str]] | None:
        """Returns the resource of a path and its parameters."""
        node, values = self._root, []
        for segment in path.strip("/").split("/"):
            following = node.get(segment)
            if following is None:
                following = node.get("{}")
                if following is None:
                    return None
                values.append(segment)
            node = following
        found = node.get("")
        return None if found is None else (found[0], dict(zip(found[1], values, strict=True)))


def microseconds(call: Callable[[], object]) -> float:
    """Returns the median of what a call takes."""
    runs = timeit.repeat(call, repeat=RUNS, number=REPEATS)
    return statistics.median(runs) / REPEATS * 1e6


def main() -> None:
    paths = sorted({re.sub(r":\w+", "", operation.path) for operation in OPERATIONS})
    compiled, tree = CompiledRouter(), SegmentTree()
    for number, path in enumerate(paths):
        by_position = path
        for place, name in enumerate(re.findall(r"\{(\w+)\}", path)):
            by_position = by_position.replace(f"{{{name}}}", f"{{p{place}}}")
        compiled.add_route(by_position, number)
        tree.add_route(by_position, number)
    path = "/repositories/sea/refs/main/objects/stat"
    assert compiled.find(path)[0] == tree.find(path)[0]
    rows = [
        ("router", microseconds(lambda: compiled.find(path)), microseconds(lambda: tree.find(path)))
    ]
    for name, query in QUERIES.items():
        ours = microseconds(lambda query=query: parse_query_string(query, keep_blank=True))
        other = microseconds(lambda query=query: parse_qsl(query, keep_blank_values=True))
        rows.append((f"query string of a {name}", ours, other))
    print(f"{'':<28}  Falcon  without  ratio")
    for name, falcon, without in rows:
        print(f"{name:<28} {falcon:>7.2f} {without:>8.2f} {without / falcon:>6.1f}")


if __name__ == "__main__":
    main()
