"""The relations that DuckDB reads from files of tables.

DuckDB reads Parquet, CSV and JSON itself. ORC, Arrow and Avro are read by pyarrow and fastavro:
batch by batch up to a number of rows for a preview, whole for a query.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from anabranch.pipelines.queries.object_filesystem import ObjectFilesystem
from anabranch.pipelines.queries.table_formats import Format, compression_of

__all__ = ["TableReader", "literal", "quoted"]

_AVRO_BATCH = 2000
_CHECKED_ROWS = 1000
_LENIENT = (
    "strict_mode = false, null_padding = true, ignore_errors = true, all_varchar = true, "
    "parallel = false"
)


class TableReader:
    """Makes relations of files. `connection` is DuckDB's, whose file system is `objects`."""

    def __init__(self, connection: Any, objects: ObjectFilesystem) -> None:
        self._connection = connection
        self._objects = objects

    def create_view(
        self, name: str, addresses: list[str], table_format: Format, max_rows: int | None = None
    ) -> None:
        """Creates the view `name` of the rows of files of one format: of all, or of at least the
        first `max_rows`. Raises what the libraries raise for files that they cannot read.
        """
        batches = _READERS.get(table_format)
        if batches is None:
            self._create_native(name, addresses, table_format, max_rows or _CHECKED_ROWS)
            return
        import pyarrow as pa  # noqa: PLC0415  slow to import

        read: list[Any] = []
        count = 0
        for batch in itertools.chain.from_iterable(
            batches(self._objects.open(address)) for address in addresses
        ):
            read.append(batch)
            count += batch.num_rows
            if max_rows is not None and count >= max_rows:
                break
        table = pa.Table.from_batches(read) if read else pa.table({})
        self._connection.register(name, table)

    def _create_native(
        self, name: str, addresses: list[str], table_format: Format, checked_rows: int
    ) -> None:
        import duckdb  # noqa: PLC0415  optional

        files = f"[{', '.join(map(literal, addresses))}]"
        compression = compression_of(addresses[0])
        compressed = f", compression = {literal(compression)}" if compression else ""
        attempts = {
            "parquet": [f"read_parquet({files}, union_by_name = true)"],
            "csv": [
                f"read_csv({files}{compressed})",
                f"read_csv({files}{compressed}, {_LENIENT})",
            ],
            "json": [f"read_json_auto({files}{compressed})"],
        }[table_format]
        for number, attempt in enumerate(attempts, 1):
            select = f"SELECT * FROM {attempt}"  # noqa: S608
            try:
                self._connection.execute(f"CREATE OR REPLACE VIEW {quoted(name)} AS {select}")
                if number < len(attempts):
                    # a file whose rows differ from its first ones fails only when it is read
                    check = f"CREATE OR REPLACE TEMP TABLE checked AS {select} LIMIT {checked_rows}"
                    self._connection.execute(check)
            except duckdb.OutOfMemoryException:
                raise
            except duckdb.Error:
                if number == len(attempts):
                    raise
            else:
                break
        self._connection.execute("DROP TABLE IF EXISTS checked")


def _orc_batches(file: Any) -> Iterator[Any]:
    from pyarrow import orc  # noqa: PLC0415

    reader = orc.ORCFile(file)
    for number in range(reader.nstripes):
        yield reader.read_stripe(number)


def _arrow_batches(file: Any) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import ipc  # noqa: PLC0415

    try:
        reader = ipc.open_file(file)
    except pa.ArrowInvalid:  # a stream, which has no footer
        file.seek(0)
        yield from ipc.open_stream(file)
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


def _avro_batches(file: Any) -> Iterator[Any]:
    import fastavro  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    schema = None
    records = fastavro.reader(file)
    for chunk in iter(lambda: list(itertools.islice(records, _AVRO_BATCH)), []):
        batch = pa.RecordBatch.from_pylist(chunk, schema=schema)
        schema = schema or batch.schema
        yield batch


_READERS: dict[Format, Callable[[Any], Iterator[Any]]] = {
    "orc": _orc_batches,
    "arrow": _arrow_batches,
    "avro": _avro_batches,
}


def literal(text: str) -> str:
    """Returns a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Returns a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
