"""The format `anabranch`: the content of a repository, for `spark.read` and `spark.readStream`.

Spark creates these classes in Python processes that it starts itself: one plans, the workers read.
Only this module imports PySpark, and only `register` imports it.
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
from anabranch.spark.data_source.commit_stream import beginning, plan_steps
from anabranch.spark.data_source.read_options import (
    Place,
    ReadOptions,
    open_source,
    parse_options,
    pin,
)
from anabranch.spark.data_source.readers import READINGS
from anabranch.spark.planning.scan_plan import Plan
from anabranch.spark.sources.commit_sources import open_references, open_repository

__all__ = ["AnabranchSource", "data_source"]


def data_source(default: Place | None, *, pushing: bool = False) -> type[AnabranchSource]:
    """Returns the class to register. `place` is the default place if the options do not name one.
    If `pushing`, its readers accept filters.
    """

    # defined here, so that it is pickled with its closure
    class Source(AnabranchSource):
        place = default
        kind = PushingReader if pushing else Reader

    return Source


class AnabranchSource(DataSource):  # type: ignore[misc]  # PySpark has no types
    """The data source of one query."""

    place: Place | None = None
    kind: type[Reader]

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format."""
        return "anabranch"

    def schema(self) -> str:
        """Returns the columns. References are resolved now, so that the query reads a single state,
        even if it reads several times.
        """
        self._asked = pin(parse_options(self.options, self.place))
        return READINGS[self._asked.what].schema

    def reader(self, schema: Any) -> Reader:  # noqa: ARG002  PySpark names the argument
        """Returns the reader of a batch query."""
        return self.kind(self._found())

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: ARG002, N802  as above
        """Returns the reader of a stream. Raises NotSupported for anything but steps."""
        asked = self._found()
        if asked.what != "steps":
            raise NotSupported(
                f"{asked.what} cannot be streamed",
                hint="Give the option branch to stream its changes.",
            )
        return StreamReader(asked)

    def _found(self) -> ReadOptions:
        """Returns the options. With a schema of the user, Spark does not call `schema`."""
        found: ReadOptions | None = getattr(self, "_asked", None)
        return found or pin(parse_options(self.options, self.place))


class Reader(DataSourceReader):  # type: ignore[misc]  # PySpark has no types
    """Reader of a batch query."""

    def __init__(self, asked: ReadOptions) -> None:
        self._asked = asked
        self._empty = False

    def partitions(self) -> Sequence[InputPartition]:
        """Returns the partitions, one for each task."""
        if self._empty:
            return []
        return _partitions(READINGS[self._asked.what].plan(self._asked))

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields the content of a partition. If there are none, Spark 4.1 creates a task without a
        partition, and Spark 4.3 one whose partition has no value.
        """
        if partition is None or partition.value is None:
            return iter(())
        return iter(partition.value())


class PushingReader(Reader):
    """A reader that accepts filters on the prefixes of paths or names.

    Spark 4.1.4 caches the plan of a reader with the table. It reuses that plan for the next query
    of the table without a filter, and for both sides of a join. This reader is therefore correct
    only if each loaded table is used once.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  PySpark's name
        """Uses filters on prefixes of paths or names. Yields the filters that Spark must apply,
        including those used only to narrow the prefix.
        """
        column = (READINGS[self._asked.what].column,)
        for condition in filters:
            if isinstance(condition, StringStartsWith) and condition.attribute == column:
                self._narrow(condition.value)
                continue
            if isinstance(condition, EqualTo) and condition.attribute == column:
                self._narrow(condition.value)
            elif isinstance(condition, In) and condition.attribute == column:
                names = [name for name in condition.value if name is not None]
                self._narrow(os.path.commonprefix(names))  # noqa: RUF071  of letters, yes
            yield condition

    def _narrow(self, prefix: str) -> None:
        """Narrows the prefix to the intersection with another one."""
        narrow, wide = sorted((self._asked.prefix, prefix), key=len, reverse=True)
        if not narrow.startswith(wide):
            self._empty = True
        self._asked = msgspec.structs.replace(self._asked, prefix=narrow)


class StreamReader(DataSourceStreamReader):  # type: ignore[misc]  # PySpark has no types
    """Reader of a stream of a branch's commits. An offset is the last commit that was read."""

    def __init__(self, asked: ReadOptions) -> None:
        self._asked = asked

    def initialOffset(self) -> dict[str, str]:  # noqa: N802  PySpark's name
        """Returns the commit after which the stream begins."""
        with open_source(self._asked.place) as source:
            return {
                "commit": beginning(open_references(source, self._asked.repository), self._asked)
            }

    def latestOffset(self) -> dict[str, str]:  # noqa: N802  PySpark's name
        """Returns the head of the branch."""
        with open_source(self._asked.place) as source:
            references = open_references(source, self._asked.repository)
            return {"commit": references.branch(self._asked.branch).commit_id}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """Returns the partitions of all steps between two offsets. Raises Conflict if the branch
        was reset to another history.
        """
        with open_source(self._asked.place) as source:
            repository = open_repository(source, self._asked.repository)
            plan = plan_steps(repository, self._asked, start["commit"], end["commit"])
        return _partitions(plan)

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields the changes of a partition."""
        return iter(()) if partition is None else iter(partition.value())


def _partitions(plan: Plan) -> list[InputPartition]:
    """Returns the partitions, each with its read function, because a reader is pickled before it
    plans.
    """
    return [InputPartition(partial(plan.read, piece)) for piece in plan.pieces]
