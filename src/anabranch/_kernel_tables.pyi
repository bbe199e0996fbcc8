"""A part of the stubs of `_kernel`, not a module: files of tables, whole and in parts."""

def verify_table(path: str) -> str:
    """Reads a whole table, verifies all checksums and the order of keys, and returns the id that it
    computes from the records. Raises CorruptTable.
    """

def table_properties(path: str) -> dict[str, bytes]:
    """Returns the properties of a table by name."""

def table_records(path: str) -> list[tuple[bytes, bytes]]:
    """Returns a table's raw records: (key, encoded value). For tools and tests."""

def table_index_start(tail: bytes, size: int) -> int:
    """Returns the position from which on a file of `size` bytes is needed to open its table, given
    its last bytes. If these begin behind it, more are needed to know. Raises CorruptTable.
    """

def table_span(path: str, after: bytes, until: bytes | None) -> tuple[int, int]:
    """Returns begin and end of the bytes that a walk over the keys after `after`, up to `until`,
    may read, besides those that are needed to open the table. Raises CorruptTable.
    """
