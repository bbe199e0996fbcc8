"""CSV and TSV files of tables."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, BinaryIO

import msgspec

from anabranch.errors import Conflict
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import ROW, Columns, quoted, require_usable
from anabranch.versioning.strategies.rows.table_format import (
    PIECE_BYTES,
    columns_of,
    literal,
    unreadable,
)

__all__ = ["CsvTable"]


class _Dialect(msgspec.Struct, frozen=True):
    delimiter: str
    line_end: bytes
    mark: bytes


class CsvTable:
    """CSV: all cells are text, and keep their spelling."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def load(
        self,
        connection: Any,
        side: str,
        version: ObjectVersion,
        key: Sequence[str],  # noqa: ARG002  all columns are known
    ) -> Columns:
        """Makes the table `side`, whose cells are text."""
        import duckdb  # noqa: PLC0415

        options = {
            "all_varchar": "true",
            "header": "true",
            "delim": literal(self._dialect(version).delimiter),
            "quote": "'\"'",
            "escape": "'\"'",
            "nullstr": "''",
            "allow_quoted_nulls": "false",
            "auto_detect": "false",
            "columns": _literal_columns(self._header(side, version)),
            "strict_mode": "true",
        }
        given = ", ".join(f"{name}={value}" for name, value in options.items())
        try:
            relation = f"read_csv({literal(version.path())}, {given})"
            numbered = f"SELECT *, row_number() OVER () AS {quoted(ROW)} FROM {relation}"  # noqa: S608
            connection.execute(f"CREATE TABLE {quoted(side)} AS {numbered}")
            return columns_of(connection, side)
        except duckdb.Error as error:
            raise unreadable(side, "CSV", error) from error

    def write(
        self,
        connection: Any,
        query: str,
        columns: Columns,  # noqa: ARG002  all are text
        like: ObjectVersion,
        output: BinaryIO,
        folder: str,
    ) -> None:
        """Writes with the delimiter, line ends and byte order mark of `like`."""
        dialect = self._dialect(like)
        copy = f"{folder}/merged.csv"
        connection.execute(
            f"COPY ({query}) TO {literal(copy)} (FORMAT csv, HEADER true, "
            f"DELIMITER {literal(dialect.delimiter)}, QUOTE '\"', ESCAPE '\"', NULLSTR '')"
        )
        output.write(dialect.mark)
        inside = False
        with open(copy, "rb") as file:  # noqa: PTH123
            while piece := file.read(PIECE_BYTES):
                if dialect.line_end == b"\n":
                    output.write(piece)
                    continue
                parts = piece.split(b'"')
                for number, part in enumerate(parts):
                    inside ^= number > 0
                    parts[number] = part if inside else part.replace(b"\n", dialect.line_end)
                output.write(b'"'.join(parts))

    def _dialect(self, version: ObjectVersion) -> _Dialect:
        with version.open() as stream:
            start = stream.read(PIECE_BYTES)
        mark = b"\xef\xbb\xbf" if start.startswith(b"\xef\xbb\xbf") else b""
        line_end = b"\r\n" if b"\r\n" in start else b"\n"
        delimiter = self._delimiter
        if delimiter == "," and b"," not in start.split(b"\n")[0] and b";" in start.split(b"\n")[0]:
            delimiter = ";"
        return _Dialect(delimiter, line_end, mark)

    def _header(self, side: str, version: ObjectVersion) -> list[str]:
        """Returns the names in the first record."""
        with version.open() as stream:
            raw = stream.read(PIECE_BYTES)
        try:
            text = raw.decode("utf-8-sig", "strict" if len(raw) < PIECE_BYTES else "ignore")
        except UnicodeDecodeError as error:
            raise Conflict(
                f"the {side} is not UTF-8: byte {error.start}",
                kind="merge_failed",
                hint="Write both sides in UTF-8, or choose a side for this path.",
            ) from error
        delimiter = self._dialect(version).delimiter
        names = next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter), [])
        if not names:
            raise Conflict(
                f"the {side} has no header", kind="merge_failed", hint="Correct the header."
            )
        require_usable(side, names)
        return names


def _literal_columns(names: list[str]) -> str:
    return "{" + ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names) + "}"
