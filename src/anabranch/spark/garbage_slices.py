"""Slices of a repository's blocks, which are named by time: as long as one another.

Names in `data/` begin with digits of base32hex, which count time. A border is a number of such
digits; the widest part of the number line is halved where the store tells, at one look, that
something lies on both sides. Names that look otherwise lie between two borders as well, so nothing
is left out.
"""

from __future__ import annotations

import heapq

from anabranch.spark.slices import FirstAfter, Slice

__all__ = ["cut_listing"]

_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_BITS = 5
_PLACES = 13
"""So many digits tell seconds apart, and what different processes have named."""

_END = 1 << _BITS * _PLACES


def cut_listing(first_after: FirstAfter, slices: int) -> list[Slice]:
    """Returns at most so many slices that together are all names. The store is asked some times for
    every slice.
    """
    first = first_after("")
    parts = [] if first is None else [(_floor(first) - _END, _floor(first), _END)]
    borders: list[int] = []
    looks = 4 * slices + _BITS * _PLACES
    while parts and len(borders) + 1 < slices and looks:
        looks -= 1
        _, low, high = heapq.heappop(parts)  # something lies at `low`
        middle = (low + high) // 2
        if middle == low:
            continue
        found = first_after(_name(middle))
        at = _END if found is None else _floor(found)
        if at < high:
            borders.append(middle)
            heapq.heappush(parts, (at - high, at, high))
        heapq.heappush(parts, (low - middle, low, middle))
    names = [_name(border) for border in sorted(borders)]
    return [Slice(*ends) for ends in zip(["", *names], [*names, ""], strict=True)]


def _name(number: int) -> str:
    places = range(_PLACES - 1, -1, -1)
    return "".join(_DIGITS[number >> _BITS * place & 31] for place in places)


def _floor(name: str) -> int:
    """Returns the greatest number whose name does not come after this one, 0 where all do."""
    number = 0
    for place, character in enumerate(name[:_PLACES]):
        rest = _BITS * (_PLACES - 1 - place)
        number += sum(digit < character for digit in _DIGITS) << rest
        if character not in _DIGITS:
            return max(0, number - 1)
    return number
