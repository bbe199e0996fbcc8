"""The records of a CSV file as bytes: where each begins and ends, and its cells as spelled.

Quotes matter where a cell begins with one. Files in which each quote does so, or ends such a cell,
or is doubled in one, are split by counting quotes; others by a regular expression.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anabranch.versioning.strategies.rows.delimited.dialect import Dialect

__all__ = ["CsvRecords", "open_records"]

_PIECE_BYTES = 4 << 20
_QUOTE, _LF, _CR = b'"\n\r'


class CsvRecords:
    """The records of a file's content, the header first, without blank lines. `starts`, `stops` and
    `ends` are NumPy arrays: where records begin, where they end, and where their line ends do.
    """

    def __init__(self, content: Any, dialect: Dialect) -> None:
        self.content = content
        self.dialect = dialect
        delimiter = re.escape(dialect.delimiter.encode())
        self._cell = re.compile(rb'(?:"(?:[^"]|"")*")?[^%b\r\n]*' % delimiter)
        self._delimiter = dialect.delimiter.encode()
        self.starts, self.stops, self.ends = self._split()

    def record(self, number: int) -> bytes:
        """Returns a record as it is spelled, without its line end."""
        return bytes(self.content[self.starts[number] : self.stops[number]])

    def cells(self, number: int) -> list[bytes]:
        """Returns the cells of a record as they are spelled."""
        record = self.record(number)
        if b'"' not in record:
            return record.split(self._delimiter)
        found, place = [], 0
        while True:
            match = self._cell.match(record, place)
            assert match is not None  # noqa: S101  it matches nothing as well
            found.append(match[0])
            place = match.end() + 1
            if place > len(record):
                return found

    def _split(self) -> tuple[Any, Any, Any]:
        import numpy as np  # noqa: PLC0415  an optional library

        data = np.frombuffer(self.content, np.uint8)
        begin = len(self.dialect.mark)
        found = self._line_ends(data, begin)
        stops, ends = found if found is not None else self._match(begin)
        if not len(ends) or ends[-1] < len(data):  # the last one has no line end
            stops = np.append(stops, len(data))
            ends = np.append(ends, len(data))
        starts = np.concatenate([[begin], ends[:-1]])
        filled = starts < stops
        return starts[filled], stops[filled], ends[filled]

    def _line_ends(self, data: Any, begin: int) -> tuple[Any, Any] | None:
        """Returns where line ends outside of quotes begin and end; None if quotes are irregular."""
        import numpy as np  # noqa: PLC0415

        stops, is_inside = [], False
        for start in range(begin, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            is_quote = piece == _QUOTE
            is_end = (piece == _LF) | (piece == _CR)
            if is_inside or is_quote.any():
                inside = (np.cumsum(is_quote, dtype=np.int32) + is_inside) % 2 == 1
                quotes = np.flatnonzero(is_quote) + start
                if not self._is_regular(data, quotes, inside[quotes - start], begin):
                    return None
                is_end &= ~inside
                is_inside = bool(inside[-1])
            stops.append(np.flatnonzero(is_end) + start)
        places = np.concatenate([np.empty(0, np.int64), *stops]).astype(np.int64)
        ends = places + 1
        # a carriage return and a line feed are one line end
        pairs = np.flatnonzero((data[places] == _CR) & _equals(data, ends, _LF))
        ends[pairs] += 1
        second = np.zeros(len(places), bool)
        second[pairs + 1] = True
        return places[~second], ends[~second]

    def _is_regular(self, data: Any, quotes: Any, opens: Any, begin: int) -> bool:
        import numpy as np  # noqa: PLC0415

        around = np.zeros(256, bool)
        around[[_QUOTE, _LF, _CR, *self._delimiter]] = True
        before, after = quotes[opens] - 1, quotes[~opens] + 1
        before, after = before[before >= begin], after[after < len(data)]
        return bool(around[data[before]].all() and around[data[after]].all())

    def _match(self, begin: int) -> tuple[Any, Any]:
        """Returns where line ends begin and end, of records as a regular expression finds them."""
        import numpy as np  # noqa: PLC0415

        cell = self._cell.pattern
        delimiter = re.escape(self._delimiter)
        record = re.compile(rb"%b(?:%b%b)*(\r\n|\r|\n)" % (cell, delimiter, cell))
        spans = [match.span(1) for match in record.finditer(self.content, begin)]
        pairs = np.array(spans, np.int64).reshape(len(spans), 2)
        return pairs[:, 0], pairs[:, 1]


def _equals(data: Any, places: Any, value: int) -> Any:
    """Returns at which places, of which the last may be beyond the end, the data have a value."""
    import numpy as np  # noqa: PLC0415

    if not len(data):
        return np.zeros(len(places), bool)
    return (places < len(data)) & (data[np.minimum(places, len(data) - 1)] == value)


@contextmanager
def open_records(path: str, dialect: Dialect) -> Iterator[CsvRecords]:
    """Yields the records of a file, which is mapped into memory."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:  # noqa: PTH123
        yield CsvRecords(content, dialect)
