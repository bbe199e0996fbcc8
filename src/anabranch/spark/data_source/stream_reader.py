"""The reader of a stream of a branch's commits, for `spark.readStream`.

Spark 4.1 asks for the latest offset without naming the last one, so the reader remembers where its
last batch ended. Spark 4.2 and later name it, and say if a trigger forbids limits. They also let a
query with the trigger `availableNow` run batch after batch, up to the head that it found first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from anabranch.spark.data_source.commit_stream import CommitStream, Position, stream_start
from anabranch.spark.data_source.read_options import ReadOptions, open_source
from anabranch.spark.planning.scan_plan import Plan
from anabranch.spark.sources.commit_sources import open_references, open_repository
from anabranch.spark.sources.refusals import note_hints

try:
    from pyspark.sql.streaming import datasource as limits
except ImportError:  # Spark 4.1
    limits = None

__all__ = ["StreamReader", "to_partitions"]

_AvailableNow = getattr(limits, "SupportsTriggerAvailableNow", object)


class StreamReader(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc, valid-type]  # PySpark has no types
    """Reader of a stream. An offset is a `Position`."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._stream = CommitStream(options)
        self._position: Position | None = None
        self._last_head = ""

    @note_hints()
    def initialOffset(self) -> dict[str, str]:  # noqa: N802  PySpark's name
        """Returns the position where the stream begins."""
        return self._start().to_offset()

    @note_hints()
    def latestOffset(  # noqa: N802  as above
        self, start: Mapping[str, str] | None = None, limit: Any = None
    ) -> dict[str, str]:
        """Returns the end of the next batch."""
        position = self._start() if start is None else Position.parse(start)
        head = self._last_head or self._head()
        if limit is not None and isinstance(limit, limits.ReadAllAvailable):
            return Position(head).to_offset()
        with open_source(self._options.location) as source:
            repository = open_repository(source, self._options.repository, self._options.store)
            return self._stream.advance(repository, position, head).to_offset()

    def getDefaultReadLimit(self) -> Any:  # noqa: N802  as above
        """Returns a limit if the options have one. Its value is not used."""
        maxima = (self._options.max_objects_per_batch, self._options.max_steps_per_batch)
        if any(maxima):
            return limits.ReadMaxRows(max(each or 1 for each in maxima))
        return limits.ReadAllAvailable()

    @note_hints()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  as above
        """Lets the stream end at the head of the branch at this time."""
        self._last_head = self._head()

    @note_hints()
    def reportLatestOffset(self) -> dict[str, str]:  # noqa: N802  as above
        """Returns the head of the branch, for the status of the query."""
        return Position(self._head()).to_offset()

    @note_hints()
    def partitions(
        self, start: Mapping[str, str], end: Mapping[str, str]
    ) -> Sequence[InputPartition]:
        """Returns the partitions of all changes between two offsets. Raises Conflict if the branch
        was reset.
        """
        first, self._position = Position.parse(start), Position.parse(end)
        with open_source(self._options.location) as source:
            repository = open_repository(source, self._options.repository, self._options.store)
            return to_partitions(self._stream.plan(repository, first, self._position))

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields the changes of a partition."""
        if partition is not None:
            with note_hints():
                yield from partition.value()

    def _start(self) -> Position:
        """Returns the end of the last batch, or where the stream begins. Spark 4.1 calls
        `latestOffset` before `initialOffset`, and both must agree.
        """
        if self._position is None:
            with open_source(self._options.location) as source:
                references = open_references(source, self._options.repository)
                self._position = stream_start(references, self._options)
        return self._position

    def _head(self) -> str:
        with open_source(self._options.location) as source:
            references = open_references(source, self._options.repository)
            return references.branch(self._options.branch).commit_id


def to_partitions(plan: Plan) -> list[InputPartition]:
    """Returns the partitions of a plan. Each contains its read function, because Spark pickles a
    reader before it plans.
    """
    return [InputPartition(partial(plan.read, partition)) for partition in plan.partitions]
