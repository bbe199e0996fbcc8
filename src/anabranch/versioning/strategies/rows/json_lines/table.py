"""JSON lines: files of tables with one JSON object in each line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from anabranch.tables.sql_names import folded, identifier, literal
from anabranch.tables.text.encoding import TextEncoding
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.json_text import parse_json, refuse
from anabranch.versioning.strategies.rows.columns import LINE, ROW, require_usable
from anabranch.versioning.strategies.rows.table_format import PIECE_BYTES, file_literal, unreadable

__all__ = ["JsonLinesTable"]

_MAX_LINE_BYTES = 64 << 20


class JsonLinesTable:
    """JSON lines: a row is the text of a line, and has its key as columns."""

    def load(self, connection: Any, side: str, version: ObjectVersion, key: Sequence[str]) -> None:
        """Makes the table `side` with row numbers, lines, and the columns `key`. Raises Conflict
        for a file that cannot be read.
        """
        import duckdb  # noqa: PLC0415  an optional library

        require_usable(side, key)
        with version.open() as stream:
            start = stream.read(2)
        if len(start) == 1 and start.strip():  # DuckDB takes it for an empty file
            refuse(side, "cannot be read as JSON lines: line 1: is no object")
        columns = ", ".join(
            f"nullif(json_extract(json, {literal(_pointer(name))})::VARCHAR, 'null')"
            f" AS {identifier(name)}"
            for name in key
        )
        try:
            relation = (
                f"read_ndjson_objects({file_literal(version)}, "
                f"maximum_object_size = {_MAX_LINE_BYTES}, hive_partitioning = false)"
            )
            connection.execute(
                f"CREATE TABLE {identifier(side)} AS SELECT {columns}{', ' if columns else ''}"  # noqa: S608
                f"json::VARCHAR AS {identifier(LINE)}, row_number() OVER () AS {identifier(ROW)} "
                f"FROM {relation}"
            )
        except duckdb.Error as error:
            _require_json(side, version)
            raise unreadable(side, "JSON lines", error) from error

    def write(
        self, lines: Iterable[str], like: ObjectVersion, encoding: TextEncoding, output: BinaryIO
    ) -> None:
        """Writes lines in an encoding, with line ends as in the decoded file `like`."""
        with like.open() as stream:
            line_end = "\r\n" if b"\r\n" in stream.read(PIECE_BYTES) else "\n"
        output.write(encoding.mark)
        texts = (f"{line}{line_end}" for line in lines)
        output.writelines(text.encode(encoding.codec, "surrogatepass") for text in texts)

    def possible_keys(self, versions: Mapping[str, ObjectVersion]) -> list[str]:
        """Returns the members that the first lines of all files have; an empty file is left out.
        `versions` are the files by side.
        """
        found = [self._first_members(side, version) for side, version in versions.items()]
        members = [names for names in found if names is not None]
        return [
            name
            for name in (members[0] if members else ())
            if all(name in each for each in members)
        ]

    @staticmethod
    def _first_members(side: str, version: ObjectVersion) -> list[str] | None:
        """Returns the names in the first line, without those that are equal but for case, None for
        a file without lines.
        """
        with version.open() as stream:
            while line := stream.readline(_MAX_LINE_BYTES):
                if line.strip():
                    break
            else:
                return None
        _require_utf8(side, line)
        first = parse_json(side, line.decode("utf-8", "replace").strip())
        names = first if isinstance(first, dict) else ()
        return list({folded(name): name for name in names if name}.values())


def _require_json(side: str, version: ObjectVersion) -> None:
    """Raises Conflict with the number of the first line that is not JSON: DuckDB tells another."""
    with version.open() as stream:
        for number, line in enumerate(stream, start=1):
            _require_utf8(side, line)
            try:
                if line.strip():
                    msgspec.json.decode(line)
            except (ValueError, RecursionError) as error:
                refuse(side, f"cannot be read as JSON lines: line {number}: {error}")


def _require_utf8(side: str, line: bytes) -> None:
    if line.startswith(b"\xef\xbb\xbf"):
        refuse(side, "begins with a byte order mark, which JSON lines do not have")


def _pointer(name: str) -> str:
    """Returns the JSON pointer of a member."""
    return "/" + name.replace("~", "~0").replace("/", "~1")
