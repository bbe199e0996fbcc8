"""Object stores behind a proxy that interrupts, delays and closes connections."""

from __future__ import annotations

import hashlib
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.faults.faulty_proxy import FaultyProxy

from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.errors import Busy

MIB = 1 << 20
BODY = random.Random(4).randbytes(3 * MIB)
SHORT = RetryPolicy(deadline=2, retries=50, read_timeout=1, connect_timeout=1)
LONG = RetryPolicy(deadline=100, retries=50, read_timeout=50, connect_timeout=50)
LATEST_SECONDS = 60
"""Long after the deadline of SHORT, and long before that of LONG, on a machine under load."""


@pytest.fixture
def proxy(s3):
    with FaultyProxy(("127.0.0.1", s3.port)) as between:
        yield between


@pytest.fixture(params=["a", pytest.param("odd\x7fa", marks=pytest.mark.slow)])
def address(request, s3, bucket):
    """The address of an existing block, with a key for each client of the store."""
    block_address = f"s3://{bucket}/{request.param}"
    s3.blocks().put(block_address, [BODY])
    return block_address


def uses(store, address):
    return {
        "put": lambda: store.put(address + "2", [b"x"]),
        "read": lambda: store.read(address),
        "stat": lambda: store.stat(address),
        "list": lambda: list(store.list(address)),
        "copy": lambda: store.copy(address, address + "3", checksum="0" * 32),
        "delete": lambda: store.delete([address + "4"]),
        "open_upload": lambda: store.open_upload(address + "5"),
    }


@pytest.mark.parametrize("fault", ["refuse", pytest.param("swallow", marks=pytest.mark.slow)])
def test_a_store_that_does_not_respond_raises_busy_within_the_deadline(s3, proxy, address, fault):
    store = s3.blocks(proxy.port, SHORT)
    store.stat(address)
    getattr(proxy, fault)()

    def attempt(use):
        start = time.monotonic()
        with pytest.raises(Busy) as error:
            use()
        assert time.monotonic() - start < LATEST_SECONDS
        return error.value

    with ThreadPoolExecutor() as threads:
        attempts = [threads.submit(attempt, use) for use in uses(store, address).values()]
    for each in attempts:
        assert each.result().kind == "storage_unreachable"
        assert each.result().hint


def test_a_short_outage_of_the_store_is_hidden_by_retries(s3, proxy, address):
    store = s3.blocks(proxy.port, LONG)
    for name, use in uses(store, address).items():
        use()
        proxy.cut()  # closes the idle connections of the pool
        use()
        assert s3.blocks().read(address) == BODY, name


def test_an_interrupted_response_is_requested_again(s3, proxy, address):
    store = s3.blocks(proxy.port, LONG)
    for allowed_bytes in (1, 100, 700_000, 2_000_000):
        proxy.pass_answers(allowed_bytes)
        assert store.read(address) == BODY
        proxy.pass_answers(allowed_bytes)
        assert b"".join(store.get(address, 5, 2 * MIB)) == BODY[5 : 5 + 2 * MIB]
    proxy.pass_answers(300)
    assert [info.address for info in store.list(address)] == [address]


def test_a_permanently_interrupted_response_raises_busy(s3, proxy, address):
    store = s3.blocks(proxy.port, SHORT)
    pieces = store.get(address)
    next(pieces)
    proxy.refuse()
    with pytest.raises(Busy):
        # bytes that had arrived before may still be read
        b"".join([*pieces, store.read(address)])


@pytest.mark.slow  # a response that is interrupted is requested again, above
def test_a_slow_store_is_not_an_error(s3, proxy, address):
    store = s3.blocks(proxy.port, LONG)
    proxy.delay(0.2)
    assert store.read(address, 7, 1_000) == BODY[7:1_007]
    assert store.put(address + "2", [b"x"]).size == 1
    assert list(store.list(address + "2"))


@pytest.mark.parametrize("key", ["large", pytest.param("odd\x7flarge", marks=pytest.mark.slow)])
def test_a_store_that_fails_during_a_large_put_stores_no_block(s3, proxy, bucket, key):
    store = s3.blocks(proxy.port, SHORT)
    address = f"s3://{bucket}/{key}"

    def chunks():
        for number in range(24):
            if number == 20:
                proxy.refuse()
            yield b"x" * MIB

    with pytest.raises(Busy):
        store.put(address, chunks())
    assert s3.blocks().stat(address) is None
    proxy.reset()
    assert store.put(address, [b"again"]).size == 5


def test_a_table_is_cached_whole_or_not_at_all(s3, proxy, bucket, tmp_path):
    table_id = hashlib.sha256(BODY).hexdigest()
    namespace = f"s3://{bucket}/repo"
    s3.blocks().put(f"{namespace}/_lakefs/{table_id}", [BODY])

    def verify(path):
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()

    cache = TableCache(s3.blocks(proxy.port, SHORT), tmp_path, 1 << 30, verify=verify)
    proxy.refuse()
    with pytest.raises(Busy):
        cache.locate(namespace, table_id)
    assert [path.name for path in tmp_path.iterdir() if path.name != "lock"] == []
    proxy.reset()
    cache = TableCache(s3.blocks(proxy.port, LONG), tmp_path, 1 << 30, verify=verify)
    proxy.pass_answers(1_000_000)
    path = cache.locate(namespace, table_id)
    assert verify(path) == table_id
