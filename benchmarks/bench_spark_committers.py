"""Benchmarks the S3A committers, with which Spark writes files to a branch.

    python benchmarks/bench_spark_committers.py                  200 files, a minute
    python benchmarks/bench_spark_committers.py --files 1000

Prints for each committer the wall time of the write in Spark and of the commit of the branch, and
the processor time of the server for both. Spark, the server and this program share the machine;
Spark takes most of the time. Needs Java and the jars that `make components` downloads.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import lakefs
from lakefs.client import Client
from proc_stats import cpu_seconds
from support.services.spark import settings_of, spark_session

from anabranch.testing.server import Server, running_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROJECT = Path(__file__).parent.parent
IN_MEMORY = "fs.s3a.committer.magic.track.commits.in.memory.enabled"
COMMITTERS = {
    "magic, in memory": {"fs.s3a.committer.name": "magic", IN_MEMORY: "true"},
    "magic": {"fs.s3a.committer.name": "magic", IN_MEMORY: "false"},
    "directory": {"fs.s3a.committer.name": "directory"},
    "file": {"fs.s3a.committer.name": "file"},
}
ROWS_PER_FILE = 1000
WARMUP_FILES = 10


class Measured(NamedTuple):
    """Wall times of the write and the commit, and processor time of the server, in seconds."""

    write: float
    commit: float
    cpu: float


def measure(
    spark: SparkSession, server: Server, client: Client, committer: str, files: int
) -> Measured:
    """Writes Parquet files to a new repository and commits them."""
    # a new repository, because Hadoop caches the settings of each bucket
    name = f"repository-{uuid.uuid4().hex}"
    repository = lakefs.Repository(name, client=client).create(f"local://{name}")
    branch = repository.branch("main")
    table = spark.range(0, files * ROWS_PER_FILE, 1, files)
    cpu, start = cpu_seconds(server.pid), time.perf_counter()
    table.write.options(**COMMITTERS[committer]).parquet(f"s3a://{repository.id}/{branch.id}/table")
    written = time.perf_counter()
    branch.commit("A table")
    end = time.perf_counter()
    stored = sum(1 for item in branch.objects() if item.path.endswith(".parquet"))
    assert stored == files, f"{committer} wrote {stored} files"
    return Measured(written - start, end - written, cpu_seconds(server.pid) - cpu)


def main() -> None:
    """Prints a line for each committer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=200)
    files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder, "lake")) as server:
        user, secret = server.auth
        client = Client(host=server.url, username=user, password=secret)
        settings = settings_of(PROJECT / "docs" / "spark-s3a.md", server)
        jars = PROJECT / ".components" / "jars"
        with spark_session(settings, jars=jars, folder=Path(folder)) as spark:
            for committer in COMMITTERS:
                measure(spark, server, client, committer, WARMUP_FILES)
            print(f"{files} files             write   commit  CPU of the server")
            for committer in COMMITTERS:
                measured = measure(spark, server, client, committer, files)
                seconds = f"{measured.write:6.1f} s {measured.commit:6.2f} s {measured.cpu:6.2f} s"
                print(f"{committer:16} {seconds}", flush=True)


if __name__ == "__main__":
    main()
