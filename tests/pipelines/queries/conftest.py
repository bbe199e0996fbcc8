"""A lake with a table in every format, and the queries of its users."""

from __future__ import annotations

import io

import duckdb
import fastavro
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, orc
from pyarrow import parquet as pq

from anabranch.access.actors.actor import Actor
from anabranch.pipelines.queries.limits import QueryLimits
from anabranch.pipelines.queries.queries import Queries
from anabranch.testing.lake import Clock, lake_in

ADMIN = Actor.administrator("admin")
ROWS = 300


def table():
    return pa.table(
        {
            "number": pa.array(range(ROWS), pa.int64()),
            "name": [f"gauge {number % 7}" for number in range(ROWS)],
            "level": [None if number % 10 == 0 else number / 4 for number in range(ROWS)],
        }
    )


def written(write):
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def stream_bytes(rows):
    def write(stream):
        with ipc.new_stream(stream, rows.schema) as writer:
            writer.write_table(rows)

    return written(write)


def avro_bytes(rows):
    schema = {
        "type": "record",
        "name": "gauge",
        "fields": [
            {"name": "number", "type": "long"},
            {"name": "name", "type": "string"},
            {"name": "level", "type": ["null", "double"]},
        ],
    }
    return written(lambda stream: fastavro.writer(stream, schema, rows.to_pylist()))


def text_bytes(rows, file_format):
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        return "\n".join(
            connection.execute(
                "SELECT to_json(rows) FROM rows"
                if file_format == "json"
                else "SELECT concat_ws(',', number, name, coalesce(level::varchar, '')) FROM rows"
            )
            .fetchnumpy()
            .popitem()[1]
        ).encode()


def files():
    rows = table()
    return {
        "gauges.parquet": written(lambda stream: pq.write_table(rows, stream)),
        "gauges.csv": b"number,name,level\n" + text_bytes(rows, "csv"),
        "gauges.jsonl": text_bytes(rows, "json"),
        "gauges.orc": written(lambda stream: orc.write_table(rows, stream)),
        "gauges.feather": written(lambda stream: feather.write_feather(rows, stream)),
        "gauges.arrows": stream_bytes(rows),
        "gauges.avro": avro_bytes(rows),
    }


@pytest.fixture(scope="session")
def lake(tmp_path_factory):
    with lake_in(tmp_path_factory.mktemp("queries"), Clock()) as lake:
        lake.repositories.create("sea", "local://sea")
        for path, content in files().items():
            lake.objects.upload("sea", "main", path, [content])
        lake.objects.upload("sea", "main", "secret/a.csv", [b"word\nhush\n"])
        for month in (5, 6):
            content = f"day,delay\n1,{month}\n2,{month * 10}\n".encode()
            lake.objects.upload("sea", "main", f"flights/month={month}/a.csv", [content])
        lake.commits.commit("sea", "main", message="tables", committer="admin")
        yield lake


@pytest.fixture(scope="session")
def queries(lake):
    return Queries(lake, QueryLimits(seconds=60, memory_bytes=256 << 20))


@pytest.fixture
def query(queries):
    def run(sql, *, actor=ADMIN, tables=None, formats=None, max_rows=1000):
        return queries.query(
            actor,
            sql,
            repository="sea",
            reference="main",
            tables=tables or {},
            formats=formats or {},
            max_rows=max_rows,
        )

    return run
