"""Slices of a repository's blocks of about equal size, cut by the time in their names.

Names in `data/` begin with digits of base32hex that encode a time. A boundary is a number of such
digits. The widest intervals are halved if a listing request shows that both halves have objects.
Other names are between two boundaries as well, so nothing is left out.
"""

from __future__ import annotations

import heapq

from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.spark.planning.listing_slices import ALL_NAMES, FirstAfter, Slice

__all__ = ["cut_listing"]

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_BITS = 5
_PLACES = 13
"""The number of digits that distinguish seconds and the processes that made the names."""

_CONCURRENT_REQUESTS = 16
_END = 1 << _BITS * _PLACES


def cut_listing(first_after: FirstAfter, slices: int, within: Slice = ALL_NAMES) -> list[Slice]:
    """Returns at most this many slices that together contain all names of a slice; none if it has
    no names. Each slice costs several requests to the store.
    """
    first = first_after(within.after)
    if first is None or (within.last and first.encode() > within.last.encode()):
        return []
    end = _floor(within.last) + 1 if within.last else _END
    parts = [(_floor(first) - end, _floor(first), end)]
    boundaries: list[int] = []
    requests = 4 * slices + _BITS * _PLACES
    while parts and len(boundaries) + 1 < slices and requests:
        number = min(len(parts), slices - 1 - len(boundaries), requests, _CONCURRENT_REQUESTS)
        requests -= number
        widest = [heapq.heappop(parts)[1:] for _ in range(number)]  # with an object at `low`
        divisible = [(low, (low + high) // 2, high) for low, high in widest if high - low > 1]
        first_names = parallel_map(
            first_after, [_name(middle) for _, middle, _ in divisible], threads=number
        )
        for (low, middle, high), name in zip(divisible, first_names, strict=True):
            start = end if name is None else _floor(name)
            if start < high:
                boundaries.append(middle)
                heapq.heappush(parts, (start - high, start, high))
            heapq.heappush(parts, (low - middle, low, middle))
    names = [_name(boundary) for boundary in sorted(boundaries)]
    ends = zip([within.after, *names], [*names, within.last], strict=True)
    return [Slice(*each) for each in ends]


def _name(number: int) -> str:
    places = range(_PLACES - 1, -1, -1)
    return "".join(_DIGITS[number >> _BITS * place & 31] for place in places)


def _floor(name: str) -> int:
    """Returns the greatest number whose name does not sort after `name`, or 0."""
    number = 0
    for place, character in enumerate(name[:_PLACES]):
        shift = _BITS * (_PLACES - 1 - place)
        number += sum(digit < character for digit in _DIGITS) << shift
        if character not in _DIGITS:
            return max(0, number - 1)
    return number
