"""Multipart uploads as Azure and Google have them: nothing moves when they are completed, nothing
is left of those that are aborted, and what breaks off in between can be done again.
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
USUAL, ONCE = RetryPolicy(), RetryPolicy(retries=0)


@pytest.fixture(params=["azure", "gcs"])
def kind(request):
    return request.param


@pytest.fixture
def opened(kind, request):
    """Opens the store by way of a port, or directly; one that `signs`, or not."""
    server = request.getfixturevalue("azure" if kind == "azure" else "emulated_s3")

    def make(port=None, retry_policy=USUAL, *, signs=True):
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


def everything(store, namespace):
    """Returns the last names of all objects, those of uploads too."""
    found = store._paths.list(store._addresses.parse_prefix(f"{namespace}/"), "")
    return [each.key.rpartition("/")[2] for each in found]


def uncommitted(store, address):
    """Returns the blocks that Azure keeps for a blob that is not there."""
    return store._uploads._all_blocks(store._addresses.parse(address))


def put_all(store, address, upload, bodies):
    return [
        (number, store.put_part(address, upload, number, [body]).checksum)
        for number, body in enumerate(bodies, 1)
    ]


def test_no_byte_moves_when_it_is_completed(opened, proxy, namespace):
    sound = opened()
    bodies = [os.urandom(6 * MIB), os.urandom(5 * MIB), b"end"]
    address = f"{namespace}/data/a"
    upload = sound.open_upload(address)
    parts = put_all(sound, address, upload, bodies)
    store = opened(proxy.port)
    stored = store.complete_upload(address, upload, parts)
    assert stored.size == sum(map(len, bodies))
    assert 0 < proxy.passed < 100_000
    store.abort_upload(address, upload)
    assert proxy.passed < 100_000
    assert sound.read(address) == b"".join(bodies)
    assert everything(sound, namespace) == ["a"]


def test_where_nothing_signs_parts_are_joined_here(opened, proxy, namespace):
    sound = opened()
    bodies = [os.urandom(9 * MIB), os.urandom(5 * MIB), b"end"]
    address = f"{namespace}/data/a"
    store = opened(proxy.port, signs=False)
    upload = store.open_upload(address)
    parts = put_all(opened(signs=False), address, upload, bodies)
    assert len(everything(store, namespace)) == 4
    for each in (store, sound):
        assert list(each.list(f"{namespace}/")) == []
    proxy.passed = 0
    store.complete_upload(address, upload, parts)
    assert proxy.passed > 2 * sum(map(len, bodies))
    assert sound.read(address) == b"".join(bodies)
    store.abort_upload(address, upload)
    assert everything(store, namespace) == ["a"]


def test_uncompleted_upload_is_not_visible(opened, namespace, kind):
    address = f"{namespace}/data/a"
    store = opened()
    upload = store.open_upload(address)
    put_all(store, address, upload, [b"x" * 1000, b"y", b""])
    assert (everything(store, namespace), store.stat(address)) == ([], None)
    store.abort_upload(address, upload)
    assert (everything(store, namespace), store.stat(address)) == ([], None)
    if kind == "azure":
        assert uncommitted(store, address) == []
    with pytest.raises(NotFound):
        store.parts(address, upload)


def test_completing_that_breaks_off_is_done_or_not(opened, proxy, namespace):
    """Cut after so many bytes of answers: before it was asked, before it was answered, after."""
    sound = opened()
    bodies = [b"x" * 1000, b"y" * 1000]
    outcomes = set()
    for left in (0, 400, 800, 1_200, 1_600, 2_400):
        address = f"{namespace}/data/{left}"
        upload = sound.open_upload(address)
        parts = put_all(sound, address, upload, bodies)
        proxy.pass_answers(left)
        try:
            opened(proxy.port, ONCE).complete_upload(address, upload, parts)
        except Busy:
            outcomes.add("broken off")
        proxy.reset()
        there = sound.stat(address)
        assert there is None or sound.read(address) == b"".join(bodies)
        outcomes.add("there" if there else "not there")
        again = sound.complete_upload(address, upload, parts)
        assert again.size == 2000
        with pytest.raises((NotFound, Invalid)):
            sound.complete_upload(address, upload, parts[:1])
        sound.abort_upload(address, upload)
        assert sound.read(address) == b"".join(bodies)
    assert outcomes == {"broken off", "there", "not there"}
    assert len(everything(sound, namespace)) == 6


def test_storing_a_part_that_breaks_off_can_be_done_again(opened, proxy, namespace):
    sound = opened()
    address = f"{namespace}/data/a"
    upload = sound.open_upload(address)
    broken = 0
    for left in (0, 200, 500, 800):
        proxy.pass_answers(left)
        try:
            opened(proxy.port, ONCE).put_part(address, upload, 1, [b"x" * 1000])
        except AnabranchError:
            broken += 1
        proxy.reset()
    assert broken
    parts = put_all(sound, address, upload, [b"second"])
    assert sound.complete_upload(address, upload, parts).size == 6
    assert sound.read(address) == b"second"


def test_a_part_copied_meanwhile_from_what_is_gone_is_not_there(opened, namespace):
    store, address = opened(), f"{namespace}/data/a"
    upload = store.open_upload(address)
    with pytest.raises(AnabranchError):
        store.copy_part(address, upload, 1, f"{namespace}/nothing")
    assert list(store.parts(address, upload)) == []


class TestAzure:
    @pytest.fixture
    def kind(self):
        return "azure"

    def test_another_upload_to_the_address_is_left_alone(self, opened, namespace):
        store, address = opened(), f"{namespace}/a"
        one, other = store.open_upload(address), store.open_upload(address)
        parts = put_all(store, address, one, [b"x"])
        store.abort_upload(address, other)
        with pytest.raises(NotFound):
            store.put_part(address, other, 1, [b"y"])
        store.abort_upload(address, one)
        assert uncommitted(store, address) == []
        with pytest.raises(NotFound):
            store.complete_upload(address, one, parts)

    def test_a_clock_that_goes_back_loses_nothing(self, azure, namespace):
        address = f"{namespace}/a"
        late, early = azure.blocks(clock=lambda: 2e9), azure.blocks(clock=lambda: 1e9)
        early._uploads._requests = late._uploads._requests = azure.blocks()._uploads._requests
        upload = late.open_upload(address)
        late.put_part(address, upload, 1, [b"first"])
        parts = [(1, early.put_part(address, upload, 1, [b"second"]).checksum)]
        early.complete_upload(address, upload, parts)
        assert azure.blocks().read(address) == b"second"

    def test_a_part_that_azure_would_refuse_is_refused_before(self, azure, namespace, monkeypatch):
        monkeypatch.setattr("anabranch.blocks.azure.uploads._MAX_BLOCK_BYTES", 4)
        store, address = azure.blocks(), f"{namespace}/a"
        upload = store.open_upload(address)
        with pytest.raises(Invalid, match="at most 4 bytes") as error:
            store.put_part(address, upload, 1, [b"tea", b"so"])
        assert error_code(error.value) == "EntityTooLarge"
        assert store.parts(address, upload) == []
        assert store.put_part(address, upload, 1, [b"milk"]).size == 4

    def test_blocks_of_others_are_passed_over(self):
        block = Block(b"u" * 16, 10_000, 1_700_000_000_000_000_000, b"m" * 16)
        others = [b"<Block><Name>YWJj</Name><Size>3</Size></Block>"]
        others.append(b"<Block><Name>?</Name></Block><Block/>")
        named = f"<Block><Name>{block.name}</Name><Size>7</Size></Block>".encode()
        document = b"<BlockList><UncommittedBlocks>%s</UncommittedBlocks></BlockList>"
        (found,) = read_blocks(document % b"".join([*others, named]))
        assert found == block._replace(size=7)
        assert (found.part.size, found.part.checksum) == (7, "6d" * 16)
        assert (found.part.number, found.part.mtime) == (10_000, 1_700_000_000)
        assert block.name in block_list([block]).decode()
        with pytest.raises(Busy):
            read_blocks(b"<BlockList>")
