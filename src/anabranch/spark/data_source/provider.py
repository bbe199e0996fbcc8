"""The format `anabranch`: the content of a repository, for `spark.read` and `spark.readStream`.

Spark creates instances of these classes in Python processes that it starts: one process plans, the
workers read. This is the only module that imports PySpark at the top, so only `register` imports
it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    In,
    InputPartition,
    StringStartsWith,
)

from anabranch.errors import NotSupported
from anabranch.spark.data_source.commit_stream import plan_steps, stream_start
from anabranch.spark.data_source.read_options import (
    Location,
    ReadOptions,
    open_source,
    parse_options,
    resolve_and_pin,
)
from anabranch.spark.data_source.readers import READERS
from anabranch.spark.planning.scan_plan import Plan
from anabranch.spark.sources.commit_sources import open_references, open_repository

__all__ = ["AnabranchSource", "data_source"]


def data_source(default: Location | None, *, push_filters: bool = False) -> type[AnabranchSource]:
    """Returns the class to register. `default` is the location if the options of a query do not
    name one. With `push_filters`, readers accept filters.
    """

    # a nested class is pickled with its closure
    class Source(AnabranchSource):
        location = default
        reader_class = PushdownReader if push_filters else Reader

    return Source


class AnabranchSource(DataSource):  # type: ignore[misc]  # PySpark has no types
    """The data source of one query."""

    location: Location | None = None
    reader_class: type[Reader]

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format."""
        return "anabranch"

    def schema(self) -> str:
        """Returns the columns. References are resolved here, so that all scans of the query read
        the same commits.
        """
        self._resolved = resolve_and_pin(parse_options(self.options, self.location))
        return READERS[self._resolved.what].schema

    def reader(self, schema: Any) -> Reader:  # noqa: ARG002  required by PySpark
        """Returns the reader of a batch query."""
        return self.reader_class(self._resolved_options())

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: ARG002, N802  as above
        """Returns the reader of a stream. Raises NotSupported for anything but steps."""
        options = self._resolved_options()
        if options.what != "steps":
            raise NotSupported(
                f"{options.what} cannot be streamed",
                hint="Set the option branch to stream the changes of a branch.",
            )
        return StreamReader(options)

    def _resolved_options(self) -> ReadOptions:
        """Returns the options. Spark does not call `schema` if the user specified a schema."""
        resolved: ReadOptions | None = getattr(self, "_resolved", None)
        return resolved or resolve_and_pin(parse_options(self.options, self.location))


class Reader(DataSourceReader):  # type: ignore[misc]  # PySpark has no types
    """Reader of a batch query."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._empty = False

    def partitions(self) -> Sequence[InputPartition]:
        """Returns the partitions."""
        if self._empty:
            return []
        return _partitions(READERS[self._options.what].plan(self._options))

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a partition. If there are no partitions, Spark 4.1 runs one task
        without a partition, and Spark 4.3 one with a partition that has no value.
        """
        if partition is None or partition.value is None:
            return iter(())
        return iter(partition.value())


class PushdownReader(Reader):
    """Reader that pushes down filters on prefixes of paths or names.

    Spark 4.1.4 caches the partitions of a reader with the table. It reuses them for the next query
    of the table without a filter, and for both sides of a join. Therefore results are correct only
    if each loaded table is used once.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  PySpark's name
        """Narrows the prefix by filters on paths or names. Yields the filters that Spark must still
        apply, including those that only narrowed the prefix.
        """
        column = (READERS[self._options.what].column,)
        for condition in filters:
            if isinstance(condition, StringStartsWith) and condition.attribute == column:
                self._narrow(condition.value)
                continue
            if isinstance(condition, EqualTo) and condition.attribute == column:
                self._narrow(condition.value)
            elif isinstance(condition, In) and condition.attribute == column:
                names = [name for name in condition.value if name is not None]
                self._narrow(os.path.commonprefix(names))  # noqa: RUF071  by characters
            yield condition

    def _narrow(self, prefix: str) -> None:
        """Restricts the reader to another prefix, too."""
        longer, shorter = sorted((self._options.prefix, prefix), key=len, reverse=True)
        if not longer.startswith(shorter):
            self._empty = True
        self._options = msgspec.structs.replace(self._options, prefix=longer)


class StreamReader(DataSourceStreamReader):  # type: ignore[misc]  # PySpark has no types
    """Reader of a stream of a branch's commits. An offset is the id of the last commit read."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def initialOffset(self) -> dict[str, str]:  # noqa: N802  PySpark's name
        """Returns the commit after which the stream begins."""
        with open_source(self._options.location) as source:
            return {
                "commit": stream_start(
                    open_references(source, self._options.repository), self._options
                )
            }

    def latestOffset(self) -> dict[str, str]:  # noqa: N802  PySpark's name
        """Returns the head of the branch."""
        with open_source(self._options.location) as source:
            references = open_references(source, self._options.repository)
            return {"commit": references.branch(self._options.branch).commit_id}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """Returns the partitions of all steps between two offsets. Raises Conflict if the branch
        was reset.
        """
        with open_source(self._options.location) as source:
            repository = open_repository(source, self._options.repository)
            plan = plan_steps(repository, self._options, start["commit"], end["commit"])
        return _partitions(plan)

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields the changes of a partition."""
        return iter(()) if partition is None else iter(partition.value())


def _partitions(plan: Plan) -> list[InputPartition]:
    """Returns the partitions of a plan. Each contains its read function, because Spark pickles a
    reader before it plans.
    """
    return [InputPartition(partial(plan.read, partition)) for partition in plan.partitions]
