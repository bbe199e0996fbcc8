"""Slices of a store's listing, which tasks list concurrently.

The names of a bucket form a trie, which is searched breadth-first from the root, several nodes at a
time. At each node, a
binary search finds the longest common prefix of the names, and then one listing request finds each
next character. The resulting prefixes are divided further until there are enough slices. Each slice
ends where the next one begins, so no name is left out, even if names are added concurrently.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = ["ALL_NAMES", "FirstAfter", "Probe", "Slice", "balanced_slices", "cut_names"]

FirstAfter = Callable[[str], str | None]
"""Returns the first name after another in the store's order, or None if there is none."""

_REQUESTS_PER_SLICE = 24
"""The approximate maximum number of requests to the store for each slice."""

_MAX_NAME_LENGTH = 1_024
"""The maximum length of a name, in characters."""

_CONCURRENT_PREFIXES = 16
_MANY_RESTS = 2
"""The limit of a round grows if the rests are at least this part of the slices."""

_EXPECTED_CHILDREN = 16
"""The expected number of next characters of a prefix, so that there are not too many slices."""

_LAST_CHARACTER, _FIRST_SURROGATE, _AFTER_SURROGATES = "\U0010ffff", "\ud800", "\ue000"


class Slice(NamedTuple):
    """The names after `after`, up to and including `last`; an empty `last` means no end."""

    after: str
    last: str


ALL_NAMES = Slice("", "")

Probe = Callable[[Sequence[Slice], int], Sequence[str | None]]
"""Lists the first names of each slice, up to a number of them; returns the last of these, or None
for a slice that has no more names.
"""


def balanced_slices(first_after: FirstAfter, probe: Probe, slices: int, limit: int) -> list[Slice]:
    """Returns slices that together contain all names, in order. `slices` is how many can be listed
    at the same time.

    Slices are cut by names, which tells nothing of how many names each has. They are therefore
    listed in rounds: the first `limit` names of each become a slice of their own, and the rest is
    divided again for the next round, until nothing is left. The limit grows as long as there are
    many rests, so that no slice has much more than its share.
    """
    done: list[Slice] = []
    left = cut_names(first_after, slices)
    while left:
        rests: list[Slice] = []
        for part, end in zip(left, probe(left, limit), strict=True):
            done.append(part if end is None else Slice(part.after, end))
            if end is not None:
                rests.append(Slice(end, part.last))
        each = max(1, slices // max(1, len(rests)))
        cut = partial(cut_names, first_after, each)
        left = [piece for pieces in parallel_map(cut, rests) for piece in pieces]
        if len(left) * _MANY_RESTS >= slices:
            limit *= 2
    return sorted(done, key=lambda part: part.after.encode())


def cut_names(first_after: FirstAfter, slices: int, within: Slice = ALL_NAMES) -> list[Slice]:
    """Returns about `slices` slices that together contain all names of a slice. There are more
    slices if a prefix has many different next characters, and fewer if there are few names or if
    names differ only at their ends.
    """
    last = within.last.encode()
    requests = itertools.count()
    made = 0

    def counted(name: str) -> str | None:
        nonlocal made
        made = next(requests)
        found = first_after(max(name, within.after, key=str.encode))
        return None if found is None or (last and found.encode() > last) else found

    def children_of(prefix: str) -> list[str]:
        return list(_children(counted, prefix))

    prefixes = deque([""])
    leaves: list[str] = []
    max_requests = _REQUESTS_PER_SLICE * slices
    while prefixes and len(prefixes) + len(leaves) < slices and made < max_requests:
        missing = slices - len(prefixes) - len(leaves)
        number = min(len(prefixes), _CONCURRENT_PREFIXES, max(1, missing // _EXPECTED_CHILDREN))
        divided = [prefixes.popleft() for _ in range(number)]
        unique: list[str] = []
        for prefix, children in zip(
            divided, parallel_map(children_of, divided, threads=number), strict=True
        ):
            if len(children) == 1:
                unique += children
            elif children:
                prefixes += children
            else:
                leaves.append(prefix)
        prefixes.extendleft(reversed(unique))
    boundaries = sorted({*prefixes, *leaves} - {within.last}, key=str.encode)[1:]
    ends = zip([within.after, *boundaries], [*boundaries, within.last], strict=True)
    return [Slice(*each) for each in ends]


def _children(first_after: FirstAfter, prefix: str) -> Iterator[str]:
    """Yields the shortest prefixes that distinguish the names that begin with `prefix`."""
    first = first_after(prefix)
    if first is None or not first.startswith(prefix):
        return
    # binary search: all names begin with `first[:common]`, but not all with `first[:distinct]`
    common, distinct = len(prefix), len(first) + 1
    while distinct - common > 1:
        middle = (common + distinct) // 2
        other = first_after(_upper_bound(first[:middle]))
        if other is not None and other.startswith(prefix):
            distinct = middle
        else:
            common = middle
    common_prefix = first[:common]
    name: str | None = first if len(first) > common else first_after(first)
    while name is not None and name.startswith(common_prefix):
        child = name[: common + 1]
        yield child
        name = first_after(_upper_bound(child))


def _upper_bound(prefix: str) -> str:
    """Returns the least name after all names with a prefix, or the greatest possible name if there
    is none.
    """
    prefix = prefix.rstrip(_LAST_CHARACTER)
    if not prefix:
        return _LAST_CHARACTER * _MAX_NAME_LENGTH
    next_character = chr(ord(prefix[-1]) + 1)
    if next_character == _FIRST_SURROGATE:
        next_character = _AFTER_SURROGATES
    return prefix[:-1] + next_character
