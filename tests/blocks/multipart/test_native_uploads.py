"""Native multipart uploads of Azure and Google: completing them transfers no content, aborting them
leaves no objects, and interrupted requests can be repeated.
"""

from __future__ import annotations

import os

import pytest
from support.faults.faulty_proxy import FaultyProxy

from anabranch.blocks.azure.block_list import Block, block_list, read_blocks
from anabranch.blocks.cloud.retry_policy import RetryPolicy
from anabranch.errors import AnabranchError, Busy, Invalid, NotFound
from anabranch.s3.protocol.error_responses import error_code

MIB = 1 << 20
DEFAULT, NO_RETRIES = RetryPolicy(), RetryPolicy(retries=0)


@pytest.fixture(params=["azure", "gcs"])
def kind(request):
    return request.param


@pytest.fixture
def open_store(kind, request):
    """Opens the store directly or through a port, with or without signing."""
    server = request.getfixturevalue("azure" if kind == "azure" else "emulated_s3")

    def make(port=None, retry_policy=DEFAULT, *, signs=True):
        if kind == "azure":
            return server.blocks(port, retry_policy, signs=signs)
        return server.gcs_blocks(retry_policy, signs=signs, port=port)

    return make


@pytest.fixture
def proxy(kind, request):
    port = request.getfixturevalue("azure" if kind == "azure" else "emulated_s3").port
    with FaultyProxy(("127.0.0.1", port)) as between:
        yield between


@pytest.fixture
def namespace(kind, request):
    return request.getfixturevalue("azure_namespace" if kind == "azure" else "gs_namespace")


def object_names(store, namespace):
    """Returns the last parts of all keys, including those of uploads."""
    objects = store._paths.list(store._addresses.parse_prefix(f"{namespace}/"), "")
    return [each.key.rpartition("/")[2] for each in objects]


def uncommitted(store, address):
    """Returns the uncommitted blocks that Azure keeps for a blob."""
    return store._uploads._all_blocks(store._addresses.parse(address))


def put_all(store, address, upload, bodies):
    return [
        (number, store.put_part(address, upload, number, [body]).checksum)
        for number, body in enumerate(bodies, 1)
    ]


def test_completion_transfers_no_content(open_store, proxy, namespace):
    direct = open_store()
    bodies = [os.urandom(6 * MIB), os.urandom(5 * MIB), b"end"]
    address = f"{namespace}/data/a"
    upload = direct.open_upload(address)
    parts = put_all(direct, address, upload, bodies)
    store = open_store(proxy.port)
    stored = store.complete_upload(address, upload, parts)
    assert stored.size == sum(map(len, bodies))
    assert 0 < proxy.passed < 100_000
    store.abort_upload(address, upload)
    assert proxy.passed < 100_000
    assert direct.read(address) == b"".join(bodies)
    assert object_names(direct, namespace) == ["a"]


@pytest.mark.slow
def test_without_signing_parts_are_joined_by_the_server(open_store, proxy, namespace):
    direct = open_store()
    bodies = [os.urandom(9 * MIB), os.urandom(5 * MIB), b"end"]
    address = f"{namespace}/data/a"
    store = open_store(proxy.port, signs=False)
    upload = store.open_upload(address)
    parts = put_all(open_store(signs=False), address, upload, bodies)
    assert len(object_names(store, namespace)) == 4
    for each in (store, direct):
        assert list(each.list(f"{namespace}/")) == []
    proxy.passed = 0
    store.complete_upload(address, upload, parts)
    assert proxy.passed > 2 * sum(map(len, bodies))
    assert direct.read(address) == b"".join(bodies)
    store.abort_upload(address, upload)
    assert object_names(store, namespace) == ["a"]


def test_uncompleted_upload_is_not_visible(open_store, namespace, kind):
    address = f"{namespace}/data/a"
    store = open_store()
    upload = store.open_upload(address)
    put_all(store, address, upload, [b"x" * 1000, b"y", b""])
    assert (object_names(store, namespace), store.stat(address)) == ([], None)
    store.abort_upload(address, upload)
    assert (object_names(store, namespace), store.stat(address)) == ([], None)
    if kind == "azure":
        assert uncommitted(store, address) == []
    with pytest.raises(NotFound):
        store.parts(address, upload)


def test_an_interrupted_completion_is_atomic(open_store, proxy, namespace):
    """The connection breaks after some bytes of responses: before, during or after completion."""
    direct = open_store()
    bodies = [b"x" * 1000, b"y" * 1000]
    outcomes = set()
    for allowed_bytes in (0, 400, 800, 1_200, 1_600, 2_400):
        address = f"{namespace}/data/{allowed_bytes}"
        upload = direct.open_upload(address)
        parts = put_all(direct, address, upload, bodies)
        proxy.pass_answers(allowed_bytes)
        try:
            open_store(proxy.port, NO_RETRIES).complete_upload(address, upload, parts)
        except Busy:
            outcomes.add("interrupted")
        proxy.reset()
        stored = direct.stat(address)
        assert stored is None or direct.read(address) == b"".join(bodies)
        outcomes.add("stored" if stored else "not stored")
        again = direct.complete_upload(address, upload, parts)
        assert again.size == 2000
        with pytest.raises((NotFound, Invalid)):
            direct.complete_upload(address, upload, parts[:1])
        direct.abort_upload(address, upload)
        assert direct.read(address) == b"".join(bodies)
    assert outcomes == {"interrupted", "stored", "not stored"}
    assert len(object_names(direct, namespace)) == 6


def test_an_interrupted_part_can_be_stored_again(open_store, proxy, namespace):
    direct = open_store()
    address = f"{namespace}/data/a"
    upload = direct.open_upload(address)
    broken = 0
    for allowed_bytes in (0, 200, 500, 800):
        proxy.pass_answers(allowed_bytes)
        try:
            open_store(proxy.port, NO_RETRIES).put_part(address, upload, 1, [b"x" * 1000])
        except AnabranchError:
            broken += 1
        proxy.reset()
    assert broken
    parts = put_all(direct, address, upload, [b"second"])
    assert direct.complete_upload(address, upload, parts).size == 6
    assert direct.read(address) == b"second"


def test_a_copy_of_a_missing_block_adds_no_part(open_store, namespace):
    store, address = open_store(), f"{namespace}/data/a"
    upload = store.open_upload(address)
    with pytest.raises(AnabranchError):
        store.copy_part(address, upload, 1, f"{namespace}/nothing")
    assert list(store.parts(address, upload)) == []


class TestAzure:
    @pytest.fixture
    def kind(self):
        return "azure"

    def test_uploads_to_one_address_are_independent(self, open_store, namespace):
        store, address = open_store(), f"{namespace}/a"
        one, other = store.open_upload(address), store.open_upload(address)
        parts = put_all(store, address, one, [b"x"])
        store.abort_upload(address, other)
        with pytest.raises(NotFound):
            store.put_part(address, other, 1, [b"y"])
        store.abort_upload(address, one)
        assert uncommitted(store, address) == []
        with pytest.raises(NotFound):
            store.complete_upload(address, one, parts)

    def test_the_last_part_counts_if_the_clock_goes_back(self, azure, namespace):
        address = f"{namespace}/a"
        late, early = azure.blocks(clock=lambda: 2e9), azure.blocks(clock=lambda: 1e9)
        early._uploads._requests = late._uploads._requests = azure.blocks()._uploads._requests
        upload = late.open_upload(address)
        late.put_part(address, upload, 1, [b"first"])
        parts = [(1, early.put_part(address, upload, 1, [b"second"]).checksum)]
        early.complete_upload(address, upload, parts)
        assert azure.blocks().read(address) == b"second"

    def test_a_part_over_the_limit_of_azure_raises_invalid(self, azure, namespace, monkeypatch):
        monkeypatch.setattr("anabranch.blocks.azure.uploads._MAX_BLOCK_BYTES", 4)
        store, address = azure.blocks(), f"{namespace}/a"
        upload = store.open_upload(address)
        with pytest.raises(Invalid, match="at most 4 bytes") as error:
            store.put_part(address, upload, 1, [b"abc", b"so"])
        assert error_code(error.value) == "EntityTooLarge"
        assert store.parts(address, upload) == []
        assert store.put_part(address, upload, 1, [b"milk"]).size == 4

    def test_blocks_of_other_programs_are_ignored(self):
        block = Block(b"u" * 16, 10_000, 1_700_000_000_000_000_000, b"m" * 16)
        others = [b"<Block><Name>YWJj</Name><Size>3</Size></Block>"]
        others.append(b"<Block><Name>?</Name></Block><Block/>")
        named = f"<Block><Name>{block.name}</Name><Size>7</Size></Block>".encode()
        document = b"<BlockList><UncommittedBlocks>%s</UncommittedBlocks></BlockList>"
        (parsed,) = read_blocks(document % b"".join([*others, named]))
        assert parsed == block._replace(size=7)
        assert (parsed.part.size, parsed.part.checksum) == (7, "6d" * 16)
        assert (parsed.part.number, parsed.part.mtime) == (10_000, 1_700_000_000)
        assert block.name in block_list([block]).decode()
        with pytest.raises(Busy):
            read_blocks(b"<BlockList>")
