"""Slices of a repository's blocks of about equal size, cut by the time in their names.

Names in `data/` begin with digits of base32hex that encode a time. A boundary is a number of such
digits. The widest interval is halved if a listing request shows that both halves have objects.
Other names are between two boundaries as well, so nothing is left out.
"""

from __future__ import annotations

import heapq

from anabranch.spark.planning.listing_slices import FirstAfter, Slice

__all__ = ["cut_listing"]

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_BITS = 5
_PLACES = 13
"""The number of digits that distinguish seconds and the processes that made the names."""

_END = 1 << _BITS * _PLACES


def cut_listing(first_after: FirstAfter, slices: int) -> list[Slice]:
    """Returns at most this many slices that together contain all names. Each slice costs several
    requests to the store.
    """
    first = first_after("")
    parts = [] if first is None else [(_floor(first) - _END, _floor(first), _END)]
    boundaries: list[int] = []
    requests = 4 * slices + _BITS * _PLACES
    while parts and len(boundaries) + 1 < slices and requests:
        requests -= 1
        _, low, high = heapq.heappop(parts)  # there is an object at `low`
        middle = (low + high) // 2
        if middle == low:
            continue
        name = first_after(_name(middle))
        start = _END if name is None else _floor(name)
        if start < high:
            boundaries.append(middle)
            heapq.heappush(parts, (start - high, start, high))
        heapq.heappush(parts, (low - middle, low, middle))
    names = [_name(boundary) for boundary in sorted(boundaries)]
    return [Slice(*ends) for ends in zip(["", *names], [*names, ""], strict=True)]


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
