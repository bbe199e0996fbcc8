"""Reads of many files, or of parts of files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from anabranch.errors import AnabranchError
from anabranch.fsspec.locations import Location, locate
from anabranch.fsspec.os_errors import to_os_error
from anabranch.fsspec.views import View

__all__ = ["ByteRange", "contents", "ranges", "slice_bounds"]

_SMALL = 128 << 10
"""Files of up to so many bytes are read whole, however short a part is asked for."""
_THREADS = 16

OpenView = Callable[[Location], View]
Result = bytes | Exception


class ByteRange(NamedTuple):
    """A part of a file. None and negative positions are those of Python's slices."""

    path: str
    start: int | None
    end: int | None


def slice_bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """Returns begin and length of a slice of a file of `size` bytes."""
    begin, stop, _ = slice(start, end).indices(size)
    return begin, max(0, stop - begin)


def contents(view_of: OpenView, paths: Sequence[str]) -> dict[str, Result]:
    """Returns the contents of files by path, or the error in place of one."""
    found: dict[str, Result] = {}
    for group in _by_reference(paths).values():
        try:
            view = view_of(group[0])
            inside = [each.path for each in group]
            for each, content in zip(group, view.contents(inside), strict=True):
                path = each.root + each.path
                if isinstance(content, AnabranchError):
                    found[path] = to_os_error(content, path)
                else:
                    found[path] = content
        except AnabranchError as error:
            for each in group:
                path = each.root + each.path
                found.setdefault(path, to_os_error(error, path))
    return found


def ranges(view_of: OpenView, parts: Sequence[ByteRange]) -> list[Result]:
    """Returns parts of files, in order, or the error in place of one. Small files are read whole,
    many at a time, and once for all of their parts.
    """
    sizes = _sizes(view_of, {each.path for each in parts})
    small = [path for path, size in sizes.items() if isinstance(size, int) and size <= _SMALL]
    whole = contents(view_of, small)

    def read(part: ByteRange) -> Result:
        size = sizes[part.path]
        if isinstance(size, Exception):
            return size
        begin, length = slice_bounds(size, part.start, part.end)
        content = whole.get(part.path)
        if content is not None:
            return content if isinstance(content, Exception) else content[begin : begin + length]
        where = locate(part.path)
        try:
            return view_of(where).open(where.path).read_bytes(begin, length)
        except AnabranchError as error:
            return to_os_error(error, part.path)

    if len(whole) == len(sizes):
        return [read(each) for each in parts]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(read, parts))


def _sizes(view_of: OpenView, paths: set[str]) -> dict[str, int | Exception]:
    def size(path: str) -> int | Exception:
        where = locate(path)
        try:
            return view_of(where).stat(where.path).entry.size
        except AnabranchError as error:
            return to_os_error(error, path)

    with ThreadPoolExecutor(_THREADS) as pool:
        return dict(zip(paths, pool.map(size, paths), strict=True))


def _by_reference(paths: Sequence[str]) -> dict[tuple[str, str], list[Location]]:
    found: dict[tuple[str, str], list[Location]] = defaultdict(list)
    for path in dict.fromkeys(paths):
        where = locate(path)
        found[where[:2]].append(where)
    return found
