"""The part of the kernel that scans JSON lines."""

from typing import Any, final

@final
class JsonLines:
    """Finds the types of the columns of JSON lines, and whether 64-bit integers, doubles and
    single names hold all that is written. As a source of an Arrow schema, it has the columns in
    order of their first appearance; raises ValueError then if `is_exact` is false.
    """

    def __new__(cls) -> JsonLines: ...
    def add(self, lines: bytes, /) -> bool:
        """Scans whole lines. Returns false if a value is at risk: a number with more digits, a
        name twice in an object, a line that is no object or is malformed, or text that is not
        UTF-8. The scan is of no use then.
        """

    @property
    def rows(self) -> int:
        """The number of objects."""

    @property
    def is_exact(self) -> bool:
        """Whether each column has one type that holds its values: not so for texts beside numbers,
        integers beyond 2**53 beside fractions, and objects without names.
        """

    def __arrow_c_schema__(self) -> Any: ...
