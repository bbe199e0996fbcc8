"""obstore: the library on which polars and deltalake are based, used directly."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store
from support.clients import odd_keys
from support.clients.odd_keys import ODD_KEYS
from support.clients.round_trip import round_trip


@pytest.fixture(scope="module")
def make_store(server):
    """Returns a function that opens a bucket, once for each thing that is tried."""

    def make(bucket):
        return S3Store(
            bucket,
            endpoint=server.url,
            access_key_id=server.access_key_id,
            secret_access_key=server.secret_access_key,
            region="us-east-1",
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    return make


@pytest.fixture
def store(make_store, repo):
    return make_store(repo.id)


@pytest.mark.wiring
def test_objects(store, repo):
    content = bytes(range(256)) * 1000
    put = store.put("main/a b", content, attributes={"Content-Type": "text/x", "depth": "10935"})
    got = store.get("main/a b")
    assert got.bytes().to_bytes() == content
    assert got.attributes == {"Content-Type": "text/x", "depth": "10935"}
    assert got.meta["e_tag"] == put["e_tag"] == store.head("main/a b")["e_tag"]
    assert store.get_range("main/a b", start=1000, end=2000).to_bytes() == content[1000:2000]
    parts = store.get_ranges("main/a b", starts=[0, 100_000], lengths=[3, 5])
    assert [part.to_bytes() for part in parts] == [content[:3], content[100_000:100_005]]
    store.copy("main/a b", "main/b")
    store.rename("main/b", "main/c")
    assert repo.paths() == ["a b", "c"]
    with pytest.raises(FileNotFoundError):
        store.get("main/none")


def test_large_objects_go_in_parts(store):
    content = bytes(range(256)) * 4096 * 23
    store.put("main/large", content, chunk_size=5 * 1024 * 1024, max_concurrency=4)
    assert store.get("main/large").bytes().to_bytes() == content
    assert store.head("main/large")["size"] == len(content)


def test_listings(store):
    keys = [f"main/{folder}/{number:02}" for folder in "ab" for number in range(3)] + ["main/c"]
    for key in keys:
        store.put(key, key.encode())
    assert [item["path"] for item in store.list("main/").collect()] == keys
    after = store.list("main/", offset="main/a/01").collect()
    assert [item["path"] for item in after] == keys[2:]
    top = store.list_with_delimiter("main/")
    assert list(top["common_prefixes"]) == ["main/a", "main/b"]
    assert [item["path"] for item in top["objects"]] == ["main/c"]
    store.delete(keys)
    assert store.list("main/").collect() == []


def test_conditions_of_puts(store):
    first = store.put("main/a", b"first", mode="create")
    with pytest.raises(AlreadyExistsError):
        store.put("main/a", b"second", mode="create")
    second = store.put("main/a", b"second", mode={"e_tag": first["e_tag"]})
    with pytest.raises(PreconditionError):
        store.put("main/a", b"third", mode={"e_tag": first["e_tag"]})
    assert store.get("main/a").bytes().to_bytes() == b"second"
    tag = second["e_tag"]
    assert store.get("main/a", options={"if_match": tag}).bytes().to_bytes() == b"second"
    with pytest.raises(PreconditionError):
        store.get("main/a", options={"if_match": first["e_tag"]})


def test_conditional_puts_of_large_objects(store):
    """The condition is kept until the last request of an upload in parts."""
    store.put("main/a", b"first")
    content = b"x" * (11 * 1024 * 1024)
    with pytest.raises(AlreadyExistsError):
        store.put("main/a", content, mode="create", use_multipart=False)
    store.put("main/b", content, mode="create", use_multipart=False)
    assert store.get("main/a").bytes().to_bytes() == b"first"
    assert store.head("main/b")["size"] == len(content)


def test_one_of_many_writers_makes_an_object(make_store, repo):
    gate = threading.Barrier(8)
    stores = [make_store(repo.id) for _ in range(8)]

    def write(number):
        gate.wait()
        try:
            stores[number].put("main/lock", str(number).encode(), mode="create")
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(write, range(8)))
    assert sum(won) == 1
    assert repo.get("lock") == str(won.index(True)).encode()


class Keys:
    """object_store as a client of keys."""

    def __init__(self, store):
        self.store = store

    def put(self, key, content):
        self.store.put(key, content)

    def get(self, key):
        return self.store.get(key).bytes().to_bytes()

    def size(self, key):
        return self.store.head(key)["size"]

    def keys(self, branch):
        return [item["path"] for item in self.store.list(f"{branch}/").collect()]

    def copy(self, source, target):
        self.store.copy(source, target)

    def delete(self, key):
        self.store.delete(key)


def not_a_path(key):
    """Whether object_store takes a key for no path: it refuses empty segments, `.`, `..` and
    control characters of ASCII before it sends anything, and cuts off a slash at the end.
    """
    return (
        odd_keys.empty_segments(key)
        or odd_keys.dot_segments(key)
        or any(character < " " or character == "\x7f" for character in key)
    )


@pytest.mark.slow  # test_boto3_odd_keys.py
def test_odd_keys(make_store, odd_bucket):
    # what XML cannot hold cannot be deleted: object_store deletes by a document, even one key
    keys = [key for key in ODD_KEYS if not (not_a_path(key) or odd_keys.not_in_xml(key))]
    assert len(keys) > 200
    round_trip(Keys(make_store(odd_bucket)), keys)


def test_what_is_no_path_is_refused_by_the_client_itself(store):
    for key in filter(not_a_path, ODD_KEYS):
        if not key.endswith("/"):
            with pytest.raises(ValueError, match="Could not parse path"):
                store.put(f"main/{key}", b"")
