"""The format `anabranch`: the content of a repository, for `spark.read` and `spark.readStream`.

Spark creates instances of these classes in Python processes that it starts: one process plans, the
workers read. This module and `stream_reader` are the only ones that import PySpark at the top, so
only `register` imports them.

There is no pushdown of filters: Spark 4.1 keeps the partitions of a filtered query with the loaded
table, and reuses them for its next query and for both sides of a join, which then lack rows. The
options `prefix`, `after`, `until` and `columns` select what is read instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from anabranch.errors import Invalid, NotSupported
from anabranch.spark.arrow_tables import to_arrow
from anabranch.spark.data_source.read_options import (
    SCHEMAS,
    Location,
    ReadOptions,
    parse_options,
    resolve_and_pin,
)
from anabranch.spark.data_source.readers import READERS
from anabranch.spark.data_source.stream_reader import StreamReader, to_partitions
from anabranch.spark.dataframes.columns import select_columns
from anabranch.spark.planning.declaration import declaration
from anabranch.spark.sources.refusals import note_hints
from anabranch.spark.sources.stores import Opener

__all__ = ["FORMAT", "AnabranchSource", "data_source"]

FORMAT = "anabranch"
"""The default name of the format."""


def data_source(
    default: Location | None, store: Opener | None = None, name: str = FORMAT
) -> type[AnabranchSource]:
    """Returns the class to register under a name. `default` and `store` are the location and the
    store of its tables if the options of a query do not name them.
    """

    # a nested class is pickled with its closure
    class Source(AnabranchSource):
        location = default
        tables_store = staticmethod(store) if store is not None else None
        format_name = name

    return Source


class AnabranchSource(DataSource):  # type: ignore[misc]  # PySpark has no types
    """The data source of one query."""

    location: Location | None = None
    tables_store: Opener | None = None
    format_name = FORMAT

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format."""
        return cls.format_name

    @note_hints()
    def schema(self) -> str:
        """Returns the columns. References are resolved here, so that all scans of the query read
        the same commits.
        """
        self._resolved = resolve_and_pin(self._parse())
        return declaration(self._resolved.schema)

    @note_hints()
    def reader(self, schema: Any) -> Reader:
        """Returns the reader of a batch query."""
        return Reader(self._options(schema))

    @note_hints()
    def streamReader(self, schema: Any) -> StreamReader:  # noqa: N802  required by PySpark
        """Returns the reader of a stream. Raises NotSupported for anything but steps."""
        options = self._options(schema)
        if options.what != "steps":
            raise NotSupported(
                f"{options.what} cannot be streamed",
                hint="Set the option branch to stream the changes of a branch.",
            )
        return StreamReader(options)

    def _options(self, schema: Any) -> ReadOptions:
        """Returns the resolved options, with the columns of a schema. Spark does not call `schema`
        if the user specified one. Raises Invalid for columns of other names or types.
        """
        resolved: ReadOptions | None = getattr(self, "_resolved", None)
        if resolved is None:
            resolved = resolve_and_pin(self._parse())
        given = to_arrow(schema)
        for field in select_columns(SCHEMAS[resolved.what], given.names):
            if given.field(field.name).type != field.type:
                raise Invalid(
                    f"{field.name}: the column has another type",
                    hint=f"Its declaration is {declaration(pa.schema([field]))}.",
                )
        return msgspec.structs.replace(resolved, columns=tuple(given.names))

    def _parse(self) -> ReadOptions:
        return parse_options(self.options, self.location, self.tables_store)


class Reader(DataSourceReader):  # type: ignore[misc]  # PySpark has no types
    """Reader of a batch query."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    @note_hints()
    def partitions(self) -> Sequence[InputPartition]:
        """Returns the partitions."""
        return to_partitions(READERS[self._options.what](self._options))

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a partition. If there are no partitions, Spark 4.1 runs one task
        without a partition, and Spark 4.3 one with a partition that has no value.
        """
        if partition is None or partition.value is None:
            return
        with note_hints():
            yield from partition.value()
