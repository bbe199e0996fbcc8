"""Benchmarks `anabranch fsck`: what its driver needs by the number of objects, with both engines.

    python benchmarks/bench_fsck.py --objects 100000 1000000          minutes
    python benchmarks/bench_fsck.py --objects 100000 --staged 100000  half of them are staged

The installation is a folder with a commit of objects, which are files of 1,000 bytes that take no
space, and with staged changes. A verification runs in a process of its own, with the default
sample. Spark has one executor, in another Java process (`local-cluster`), so that its work is not
the driver's. Prints for each verification the processor time of its process and of the driver's
Java, that of all processes, and the peak memory of both. Needs Java for Spark.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import tempfile
import time
from contextlib import ExitStack, redirect_stdout
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
from bench_gc import LONG_AGO, addresses, entries
from bench_spark_gc import java_process, peak_mib
from proc_stats import cpu_seconds
from support.services.spark import spark_session

from anabranch import _kernel as kernel
from anabranch.cli.main import main as command
from anabranch.keyvalue.contract import Write
from anabranch.library import open_lake
from anabranch.model.names import encode_path

SIZE = 1_000
MD5 = hashlib.md5(bytes(SIZE), usedforsecurity=False).hexdigest()
BATCH = 10_000
SETTINGS = {
    "spark.master": "local-cluster[1,2,1024]",
    "spark.driver.extraJavaOptions": "",
    "spark.sql.shuffle.partitions": "16",
}


def make_installation(folder: Path, objects: int, staged: int) -> None:
    """Makes an installation with committed and with staged objects."""
    with open_lake(folder, committer="bench") as lake:
        lake.repositories.create("sea", "local://sea")
        repository = lake.core.repositories.get("sea")
        tables = lake.core.trees.write_folder(repository)
        batches = (
            batch.set_column(5, "checksum", pa.array([MD5] * len(batch)))
            for batch in entries(objects)
        )
        first = next(batches)
        chained = itertools.chain([first], batches)
        reader = pa.RecordBatchReader.from_batches(first.schema, chained)
        written = kernel.write_arrow(reader, tables)
        lake.core.trees.adopt(repository, tables, written)
        lake.commits.commit("sea", "main", message="m", source_metarange=written.metarange_id)
        lake.objects.upload("sea", "main", "z", [b"z"])
        (branch,) = lake.core.branches.all(repository)
        (token,) = branch.tokens
        for start in range(0, staged, BATCH):
            last = min(staged, start + BATCH)
            rows = zip(range(start, last), addresses(objects + start, objects + last), strict=True)
            lake.keyvalue.apply([_staged(token, number, str(name)) for number, name in rows])
    for start in range(0, objects + staged, BATCH):
        for name in addresses(start, min(objects + staged, start + BATCH)).to_pylist():
            path = folder / "block" / "sea" / name
            try:
                file = os.open(path, os.O_CREAT | os.O_WRONLY)
            except FileNotFoundError:
                path.parent.mkdir(parents=True)
                file = os.open(path, os.O_CREAT | os.O_WRONLY)
            os.ftruncate(file, SIZE)
            os.close(file)


def _staged(token: str, number: int, address: str) -> Write:
    key = encode_path(f"staged/{number:09d}")
    value = kernel.encode_entry(address, 1, LONG_AGO, 0, SIZE, MD5, {}, "")
    return Write(token, key, kernel.encode_staged(key, value))


def verify(folder: Path, engine: str, name: str) -> None:
    """Verifies an installation, and prints a line."""
    with ExitStack() as stack:
        words = ["fsck", "--data", str(folder / "lake"), "--engine", engine]
        if engine == "spark":
            stack.enter_context(spark_session(SETTINGS, jars=folder / "none", folder=folder))
        java = java_process() if engine == "spark" else 0
        before = time.process_time(), _own_cpu(java), cpu_seconds(os.getpid())
        said = folder / "said"
        with said.open("w") as file, redirect_stdout(file):
            code = command(words)
        after = time.process_time(), _own_cpu(java), cpu_seconds(os.getpid())
        own, in_java, everything = (end - begin for begin, end in zip(before, after, strict=True))
        assert code == 0, said.read_text()
        heap = peak_mib(java) if java else 0.0
        print(
            f"{name:<34} {own:>8.1f} {in_java:>7.1f} {everything:>7.1f} "
            f"{peak_mib(os.getpid()):>8.0f} {heap:>7.0f}",
            flush=True,
        )


def _own_cpu(java: int) -> float:
    return time.clock_gettime(~java << 3 | 2) if java else 0.0


def main() -> None:
    """Prints a line for each verification."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, nargs="+", default=[100_000])
    parser.add_argument("--staged", type=int, default=0)
    parser.add_argument("--engine", choices=("local", "spark"), nargs="+")
    parser.add_argument("--keep", type=Path, help="keeps the installations in this folder")
    arguments = parser.parse_args()
    titles = f"{'CPU s':>8} {'of Java':>7} {'of all':>7} {'MiB':>8} {'of Java':>7}"
    print(f"{'':<34} {titles}", flush=True)
    spawn = get_context("spawn")
    for objects in arguments.objects:
        with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary:
            folder = Path(temporary)
            if arguments.keep:
                folder = arguments.keep / f"{objects}-{arguments.staged}"
            if not (folder / "lake").exists():
                making = spawn.Process(
                    target=make_installation, args=(folder / "lake", objects, arguments.staged)
                )
                making.start()
                making.join()
                assert not making.exitcode
            for engine in arguments.engine or ("local", "spark"):
                name = f"{engine}, {objects:,} and {arguments.staged:,} staged"
                process = spawn.Process(target=verify, args=(folder, engine, name))
                process.start()
                process.join()
                assert not process.exitcode


if __name__ == "__main__":
    main()
