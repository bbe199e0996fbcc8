"""The part of the kernel that scans JSON lines."""

from collections.abc import Sequence
from typing import Any, final

@final
class JsonLines:
    """Finds the types of the columns of JSON lines, and whether 64-bit integers, doubles and
    single names hold all that is written. As a source of an Arrow schema, it has the columns in
    order of their first appearance. A column has the type null if no such type holds its values: a
    number with more digits, a name twice in an object, texts beside numbers, integers beyond 2**53
    beside fractions, objects without names.
    """

    def __new__(cls) -> JsonLines: ...
    def add(self, lines: bytes, /) -> bool:
        """Scans whole lines. Returns false if a line is no object or is malformed, has too many
        levels or names, an exponent beyond 308, or is not UTF-8. The scan is of no use then.
        """

    @property
    def rows(self) -> int:
        """The number of objects."""

    @property
    def doubled_rows(self) -> int:
        """The number of lines with an object that has a name twice."""

    @property
    def first_doubled(self) -> bytes | None:
        """The first line with an object that has a name twice."""

    def values(self, lines: bytes, places: Sequence[int], /) -> list[bytes]:
        """Returns the values of columns at some places in whole lines, as they are written: a JSON
        array for each column, with null for a line that has none, and the last one of several.
        Raises ValueError for lines that were not scanned.
        """

    def __arrow_c_schema__(self) -> Any: ...

def json_document_lines(document: bytes, /) -> bytes | None:
    """Returns the objects of a JSON document, which is an array of objects or one object, with a
    line for each. The document is valid if its lines are. None for other documents.
    """
