"""The cache of tables over S3: concurrent downloads, capacity, damage and a full disk."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.faults.faulty_proxy import FaultyProxy

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.errors import Corrupt

THREADS = 8
PROCESSES = 3
BIG = 1 << 30


def entry(number: int) -> tuple[bytes, bytes]:
    address = hashlib.md5(b"%d" % number, usedforsecurity=False).hexdigest()
    return b"%06d" % number, kernel.encode_entry(address, number, 0, 0, 1, address, {}, "a/b")


@pytest.fixture
def namespace(bucket: str) -> str:
    return f"s3://{bucket}/lake"


@pytest.fixture
def proxy(s3):
    with FaultyProxy(("127.0.0.1", s3.port)) as between:
        yield between


@pytest.fixture
def tables(s3_store, namespace, tmp_path):
    """Real tables in the store, by id: one of each of ten trees."""
    tables = {}
    for first in range(0, 10_000, 1_000):
        folder = tmp_path / f"{first}"
        folder.mkdir()
        written = kernel.write_tree([entry(first + n) for n in range(1_000)], str(folder))
        for table_id in written.tables:
            if table_id != written.metarange_id:
                tables[table_id] = (folder / table_id).read_bytes()
                s3_store.put(f"{namespace}/_lakefs/{table_id}", [tables[table_id]])
    assert len(tables) == 10
    return tables


@pytest.fixture
def make(s3, proxy, tmp_path):
    """Creates a cache that downloads tables through the proxy."""

    def cache(capacity=BIG, folder=None):
        return TableCache(
            s3.blocks(proxy.port),
            folder or tmp_path / "cache",
            capacity,
            verify=kernel.verify_table,
            grace_seconds=0,
        )

    return cache


def held(folder: Path) -> int:
    """Returns the bytes of all tables in a folder, including partial downloads."""
    total = 0
    for path in folder.iterdir():
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def check_downloaded_once(proxy, tables):
    """Checks by the transferred bytes that no table was downloaded twice."""
    sizes = list(map(len, tables.values()))
    assert sum(sizes) < proxy.passed < sum(sizes) + min(sizes)


def test_threads_and_caches_download_each_table_once(make, tables, proxy, namespace):
    proxy.delay(0.02)
    caches = [make(), make()]
    start = threading.Barrier(THREADS)

    def locate(number: int) -> list[bytes]:
        start.wait()
        return [
            Path(caches[number % 2].locate(namespace, table_id)).read_bytes() for table_id in tables
        ]

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(locate, range(THREADS))) == [list(tables.values())] * THREADS
    check_downloaded_once(proxy, tables)


LOCATE = """
import sys
from anabranch import _kernel as kernel
from anabranch.blocks.s3.endpoint import Credentials, S3Endpoint
from anabranch.blocks.s3.store import s3_blocks
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.model.secret import Secret
endpoint, key_id, secret, folder, namespace, *tables = sys.argv[1:]
who = Credentials(key_id, Secret(secret))
access = S3Endpoint(lambda: who, endpoint=endpoint, region="us-east-1", path_style=True)
cache = TableCache(s3_blocks(access), folder, 1 << 30, verify=kernel.verify_table)
print("ready", flush=True)
sys.stdin.readline()
for table in tables:
    path = cache.locate(namespace, table)
    print(kernel.verify_table(path), flush=True)
"""


def arguments_for(s3, port, folder, namespace, tables):
    keys = s3.access().credentials()
    access = [f"http://127.0.0.1:{port}", keys.access_key_id, keys.secret.reveal()]
    return [*access, str(folder), namespace, *tables]


def start_process(arguments, *before):
    return subprocess.Popen(
        [*before, sys.executable, "-c", LOCATE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_download_each_table_once(s3, tables, proxy, tmp_path, namespace):
    arguments = arguments_for(s3, proxy.port, tmp_path / "cache", namespace, tables)
    processes = [start_process(arguments) for _ in range(PROCESSES)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    proxy.delay(0.02)
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        assert process.communicate()[0].split() == list(tables)
    check_downloaded_once(proxy, tables)


def test_a_process_killed_during_a_download_leaves_no_damage(
    s3, make, tables, proxy, tmp_path, namespace
):
    cache = tmp_path / "cache"
    table_id, body = next(iter(tables.items()))
    proxy.swallow()
    with start_process(arguments_for(s3, proxy.port, cache, namespace, [table_id])) as killed:
        assert killed.stdout.readline() == "ready\n"
        killed.stdin.write("go\n")
        killed.stdin.flush()
        while not (cache / f"{table_id}.part").exists():
            assert killed.poll() is None
        killed.kill()
    proxy.reset()
    assert Path(make().locate(namespace, table_id)).read_bytes() == body
    assert sorted(path.name for path in cache.iterdir()) == [table_id, "lock", "total"]


def test_the_capacity_is_observed_under_concurrent_downloads(make, tables, tmp_path, namespace):
    most = max(map(len, tables.values()))
    capacity = 2 * most
    caches, folder = [make(capacity) for _ in range(2)], tmp_path / "cache"
    seen, done = [0], threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(held(folder))

    def pass_by(number: int) -> None:
        for table_id in list(tables)[number:] + list(tables)[:number]:
            with open_table(caches[number % 2], namespace, table_id) as file:
                assert hashlib.sha256(file.read()).digest() == digests[table_id]

    digests = {table_id: hashlib.sha256(body).digest() for table_id, body in tables.items()}
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(len(caches)) as pool:
            list(pool.map(pass_by, range(len(caches))))
    finally:
        done.set()
        watcher.join()
    # besides what may stay, each has one on its way, and some just brought; that is not all of them
    assert max(seen) <= capacity + 3 * len(caches) * most < sum(map(len, tables.values()))
    make(capacity).locate(namespace, next(iter(tables)))
    caches[0]._files.shrink()
    assert held(folder) <= capacity


def open_table(cache, namespace, table_id):
    """Opens a table, which another thread may have removed since it was located."""
    while True:
        try:
            return Path(cache.locate(namespace, table_id)).open("rb")
        except FileNotFoundError:
            continue


class TestDamage:
    def test_in_the_store_reports_its_address(self, make, tables, s3_store, tmp_path, namespace):
        table_id, body = next(iter(tables.items()))
        address = f"{namespace}/_lakefs/{table_id}"
        s3_store.put(address, [body[:100] + b"x" + body[101:]])
        with pytest.raises(Corrupt, match=address) as caught:
            make().locate(namespace, table_id)
        assert caught.value.path == address
        assert [path.name for path in (tmp_path / "cache").iterdir()] == []
        s3_store.put(address, [body])
        assert Path(make().locate(namespace, table_id)).read_bytes() == body

    def test_in_the_cache_reports_its_path(self, make, tables, tmp_path, namespace):
        table_id, body = next(iter(tables.items()))
        cache = make()
        path = Path(cache.locate(namespace, table_id))
        assert path == tmp_path / "cache" / table_id
        path.write_bytes(body[:100] + b"x" + body[101:])
        with pytest.raises(kernel.CorruptTable) as caught:
            kernel.verify_table(cache.locate(namespace, table_id))
        assert caught.value.path == str(path)
        path.unlink()  # it is a copy
        assert Path(cache.locate(namespace, table_id)).read_bytes() == body


class TestFullDisk:
    def test_does_not_prevent_reads(self, s3, tables, tmp_path, namespace):
        """On a small file system in a separate mount namespace."""
        folder = tmp_path / "small"
        folder.mkdir()
        size = max(map(len, tables.values())) // 1_024 + 8
        mount = f'mount -t tmpfs -o size={size}k none {folder} && exec "$@"'
        private = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
        arguments = arguments_for(s3, s3.port, folder, namespace, [*tables, *tables])
        with start_process(arguments, *private) as process:
            out = process.communicate("go\n")[0]
        assert out.split() == ["ready", *tables, *tables]

    def test_is_recognised_in_any_write(self, make, tables, namespace, tmp_path, monkeypatch):
        cache = make()

        def refuse(_descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "full")

        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", refuse)
            for table_id, body in tables.items():
                path = cache.locate(namespace, table_id)
                assert path.startswith("/proc/self/fd/")
                assert kernel.verify_table(path) == table_id
                assert Path(path).read_bytes() == body
            assert [path.name for path in (tmp_path / "cache").iterdir()] == []
        assert Path(cache.locate(namespace, table_id)).parent == tmp_path / "cache"

    def test_other_errors_are_raised(self, make, tables, namespace, monkeypatch):
        def refuse(_descriptor: int) -> None:
            raise PermissionError(errno.EACCES, "no")

        monkeypatch.setattr(os, "fdatasync", refuse)
        with pytest.raises(PermissionError):
            make().locate(namespace, next(iter(tables)))
