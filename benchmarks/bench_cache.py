"""Benchmarks the cache of commit tables over an object store: cold, warm and hot look-ups.

    python benchmarks/bench_cache.py [--objects N] [--delay-ms MS]

Cold: a range that is only in the store, behind a proxy that adds a delay in each direction.
Warm: a range on the local disk that no process has open. Hot: a range that is open.
Cold and warm look-ups run once in every range, hot ones many times. The store is MinIO if `make
minio` has built it, else moto's server in the same process, whose processor time is then included.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.faults.faulty_proxy import FaultyProxy
from support.services.minio import running_minio
from support.services.minio_program import minio_program
from support.services.s3_emulator import running_s3
from support.services.s3_service import S3Service

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache

NAMESPACE = "s3://bench/lake"
VERSION = Path(__file__).parent.parent / "tools" / "minio-version"
LOOK_UPS = 200_000
MIB = 1 << 20


@contextmanager
def running_store() -> Iterator[S3Service]:
    """Runs MinIO, or else moto's S3."""
    program = minio_program(VERSION.read_text().strip(), os.environ)
    with running_s3() if program is None else running_minio(program) as store:
        yield store


def entry(number: int) -> tuple[bytes, bytes]:
    digest = hashlib.sha256(b"%d" % number).hexdigest()
    record = kernel.encode_entry(f"data/{digest[:40]}", 1, 0, 0, 1, digest[:32], {}, "a/b")
    return b"tables/flights/month=2024-01/%012d" % number, record


def measure(name: str, work: Callable[[bytes], object], keys: Sequence[bytes]) -> None:
    """Does a look-up of each key and prints what one took."""
    taken = []
    cpu = time.process_time()
    for key in keys:
        begin = time.perf_counter()
        assert work(key) is not None
        taken.append(time.perf_counter() - begin)
    cpu = (time.process_time() - cpu) / len(keys)
    taken.sort()
    print(
        f"{name:<40}{cpu * 1e6:>12,.1f} CPU-µs"
        f"   p50 {taken[len(taken) // 2] * 1e3:>9.3f} ms"
        f"   p99 {taken[len(taken) * 99 // 100] * 1e3:>9.3f} ms",
        flush=True,
    )


def run(store: S3Service, folder: Path, objects: int, delay_seconds: float) -> None:
    made = folder / "made"
    made.mkdir()
    written = kernel.write_tree([entry(number) for number in range(objects)], str(made))
    store.make_bucket("bench")
    blocks = store.blocks()
    for table_id in written.tables:
        blocks.put(f"{NAMESPACE}/_lakefs/{table_id}", [(made / table_id).read_bytes()])
    with FaultyProxy(("127.0.0.1", store.port)) as proxy:
        proxy.delay(delay_seconds)
        far = store.blocks(proxy.port)
        far.stat(f"{NAMESPACE}/_lakefs/none")  # connects

        def opened() -> kernel.Tree:
            """Returns the tree over tables none of which is open."""
            cache = TableCache(far, folder / "cache", 1 << 40, verify=kernel.verify_table)
            locate = lambda table_id: cache.locate(NAMESPACE, table_id)  # noqa: E731
            return kernel.Tables().tree(written.metarange_id, locate)

        tree = opened()
        ranges = tree.ranges()
        firsts = [found.min_key for found in ranges]
        size = sum((made / found.id).stat().st_size for found in ranges) / len(ranges) / MIB
        print(
            f"{store.product}, {objects:,} objects in {len(ranges)} ranges of {size:.1f} MiB, "
            f"{delay_seconds * 1e3:.0f} ms each way"
        )
        measure("cold: from the store", tree.get, firsts)
        measure("warm: from this machine's disk", opened().get, firsts)
        chance = random.Random(0)
        keys = [entry(chance.randrange(objects))[0] for _ in range(LOOK_UPS)]
        measure("hot: open", tree.get, keys)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=500_000)
    parser.add_argument("--delay-ms", type=float, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_store() as store:
        run(store, Path(folder), given.objects, given.delay_ms / 1e3)


if __name__ == "__main__":
    main()
