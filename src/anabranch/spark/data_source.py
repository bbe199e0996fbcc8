"""The format `anabranch`: what a repository holds, by `spark.read` and `spark.readStream`.

Spark makes these classes in processes of Python that it starts itself: one plans, the workers read.
This file alone imports PySpark, and only `register` imports it.
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
from anabranch.spark.asked import Asked, Place, asked_of, opened, pinned
from anabranch.spark.readings import READINGS
from anabranch.spark.sources import references_of, repository_of
from anabranch.spark.steps import beginning, plan_steps
from anabranch.spark.tasks import Plan

__all__ = ["AnabranchSource", "data_source"]


def data_source(default: Place | None, *, pushing: bool = False) -> type[AnabranchSource]:
    """Returns the class to register; a place that options do not name is the default one. Its
    readers take conditions over if they are `pushing`.
    """

    # made here, so that it goes to other processes with what is given in it
    class Source(AnabranchSource):
        place = default
        kind = PushingReader if pushing else Reader

    return Source


class AnabranchSource(DataSource):  # type: ignore[misc]  # PySpark tells no types
    """The format, for one query."""

    place: Place | None = None
    kind: type[Reader]

    @classmethod
    def name(cls) -> str:
        """Returns what the format is called."""
        return "anabranch"

    def schema(self) -> str:
        """Returns the columns. References are looked up now: all that the query reads, however
        often, is of this moment.
        """
        self._asked = pinned(asked_of(self.options, self.place))
        return READINGS[self._asked.what].schema

    def reader(self, schema: Any) -> Reader:  # noqa: ARG002  PySpark names the argument
        """Returns what reads once."""
        return self.kind(self._found())

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: ARG002, N802  as above
        """Returns what reads on and on. Raises NotSupported for all but steps."""
        asked = self._found()
        if asked.what != "steps":
            raise NotSupported(
                f"{asked.what} cannot be streamed", hint="Give the branch whose changes you want."
            )
        return StreamReader(asked)

    def _found(self) -> Asked:
        """Returns what is asked for; who gives a schema is not asked for ours."""
        found: Asked | None = getattr(self, "_asked", None)
        return found or pinned(asked_of(self.options, self.place))


class Reader(DataSourceReader):  # type: ignore[misc]  # PySpark tells no types
    """Reads what is asked for, once."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._empty = False

    def partitions(self) -> Sequence[InputPartition]:
        """Returns the pieces that tasks read."""
        if self._empty:
            return []
        return _partitions(READINGS[self._asked.what].plan(self._asked))

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields what is in a piece. Where there is none, Spark 4.1 makes a task without one, and
        Spark 4.3 one with a piece that is nothing.
        """
        if partition is None or partition.value is None:
            return iter(())
        return iter(partition.value())


class PushingReader(Reader):
    """The same, and takes over conditions on the beginnings of paths or names.

    Spark 4.1.4 keeps what a reader has planned with the table, and takes it for the next query of
    that table which has no condition, and for both sides of a join. So this reader is right only
    where each table that is loaded is used once.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  PySpark's name
        """Takes over conditions on the beginnings of paths or names; yields those that are left,
        and those that it only makes use of.
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
        """Keeps only what begins with a prefix too."""
        narrow, wide = sorted((self._asked.prefix, prefix), key=len, reverse=True)
        if not narrow.startswith(wide):
            self._empty = True
        self._asked = msgspec.structs.replace(self._asked, prefix=narrow)


class StreamReader(DataSourceStreamReader):  # type: ignore[misc]  # PySpark tells no types
    """Reads what a branch goes through. An offset is the commit up to which that was read."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def initialOffset(self) -> dict[str, str]:  # noqa: N802  PySpark's name
        """Returns the commit after which the stream begins."""
        with opened(self._asked.place) as source:
            return {"commit": beginning(references_of(source, self._asked.repository), self._asked)}

    def latestOffset(self) -> dict[str, str]:  # noqa: N802  PySpark's name
        """Returns the head of the branch."""
        with opened(self._asked.place) as source:
            references = references_of(source, self._asked.repository)
            return {"commit": references.branch(self._asked.branch).commit_id}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """Returns the pieces of all steps between two offsets. Raises Conflict when the branch was
        reset to another history.
        """
        with opened(self._asked.place) as source:
            repository = repository_of(source, self._asked.repository)
            plan = plan_steps(repository, self._asked, start["commit"], end["commit"])
        return _partitions(plan)

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yields the changes in a piece."""
        return iter(()) if partition is None else iter(partition.value())


def _partitions(plan: Plan) -> list[InputPartition]:
    """Returns the pieces, each with what reads it: a reader is pickled before it plans."""
    return [InputPartition(partial(plan.read, piece)) for piece in plan.pieces]
