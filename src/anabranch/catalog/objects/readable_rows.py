"""The rows of a search whose objects a user may read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.model.names import decode_key

__all__ = ["KEY", "readable_rows"]

KEY = "key"
"""The column of the keys of objects, which are their paths as bytes."""

_FEW_ROWS = 16
"""So few paths are compared with the policies one by one."""


def readable_rows(batch: Any, readable: ReadablePaths) -> Any:
    """Returns the rows of a record batch, sorted by its column KEY, whose paths are readable."""
    import pyarrow as pa  # noqa: PLC0415

    paths = [decode_key(key) for key in batch.column(KEY).to_pylist()]
    mask = [False] * len(paths)
    for start, end in _readable_runs(paths, readable, 0, len(paths)):
        mask[start:end] = [True] * (end - start)
    return batch if all(mask) else batch.filter(pa.array(mask, pa.bool_()))


def _readable_runs(
    paths: Sequence[str], readable: ReadablePaths, start: int, end: int
) -> Iterator[tuple[int, int]]:
    """Yields the runs of readable paths among sorted ones. Policies mostly allow or deny all paths
    with a prefix, so halves with a common prefix are decided at once.
    """
    if end - start <= _FEW_ROWS:
        for index in range(start, end):
            if paths[index] in readable:
                yield index, index + 1
        return
    common = _common_beginning(paths[start], paths[end - 1])
    hidden = readable.hidden_prefix(paths[start])
    if hidden is not None and common.startswith(hidden):
        return
    if common and readable.contain_all_below(common):
        yield start, end
        return
    middle = (start + end) // 2
    yield from _readable_runs(paths, readable, start, middle)
    yield from _readable_runs(paths, readable, middle, end)


def _common_beginning(first: str, last: str) -> str:
    pairs = zip(first, last, strict=False)
    return first[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))]
