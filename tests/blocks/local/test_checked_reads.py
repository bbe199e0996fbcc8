"""Reads of whole files, which are verified by their MD5."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anabranch.blocks.local.checked_reads import LocalCheckedReads
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Gone

MIB = 1 << 20


def stored(blocks, name, body):
    address = f"local://sea/{name}"
    put = blocks.put(address, [body])
    return address, put.size, put.checksum


def overwrite(blocks, address, beginning):
    with Path(blocks.local_path(address)).open("r+b") as file:
        file.write(beginning)


@pytest.fixture
def blocks(tmp_path):
    blocks = LocalBlocks(tmp_path)
    yield blocks
    blocks.close()


def read_in_all_ways(blocks, block):
    """Returns the result of each way of reading a block: its bytes, or the kind of the error."""
    results = []
    for read in (
        lambda: blocks.checked.read_if_cached(*block),
        lambda: blocks.checked.read(*block),
        lambda: b"".join(blocks.checked.get(*block)),
        lambda: blocks.checked.require(*block) or b"valid",
    ):
        try:
            results.append(read())
        except Gone as error:
            results.append(error.kind)
    return results


@pytest.mark.parametrize("size", [0, 1, 70_000, MIB, MIB + 1, 3 * MIB])
def test_all_ways_of_reading_return_undamaged_bytes(blocks, size):
    body = os.urandom(size)
    block = stored(blocks, "a", body)
    for _ in range(2):
        cached, read, streamed, checked = read_in_all_ways(blocks, block)
        assert cached in {None, body}
        assert (read, streamed, checked) == (body, body, b"valid")


@pytest.mark.parametrize("size", [1, 70_000, MIB])
def test_no_way_of_reading_returns_damaged_bytes(blocks, size):
    address, _, md5 = stored(blocks, "a", b"x" * size)
    overwrite(blocks, address, b"y")
    results = read_in_all_ways(blocks, (address, size, md5))
    assert results == [None, "data_damaged", "data_damaged", "data_damaged"]
    # the same file matches another MD5
    block = address, size, hashlib.md5(b"y" + b"x" * (size - 1)).hexdigest()
    assert read_in_all_ways(blocks, block)[1:] == [b"y" + b"x" * (size - 1)] * 2 + [b"valid"]


def test_the_last_chunk_of_a_large_damaged_file_is_not_returned(blocks):
    address, size, md5 = stored(blocks, "a", b"x" * (3 * MIB))
    overwrite(blocks, address, b"y")
    pieces = blocks.checked.get(address, size, md5)
    assert [len(next(pieces)) for _ in range(2)] == [MIB, MIB]
    with pytest.raises(Gone, match="damaged"):
        next(pieces)
    with pytest.raises(Gone, match="damaged"):
        blocks.checked.get(address, size, md5)


def test_a_missing_shorter_or_longer_file_raises_before_the_first_chunk(blocks):
    address, size, md5 = stored(blocks, "a", b"x" * 10)
    path = Path(blocks.local_path(address))
    for body, kind in ((b"x" * 9, "data_missing"), (b"x" * 11, "data_damaged")):
        path.write_bytes(body)
        assert read_in_all_ways(blocks, (address, size, md5)) == [None, kind, kind, kind]
    path.unlink()
    missing = "data_missing"
    assert read_in_all_ways(blocks, (address, size, md5)) == [None, missing, missing, missing]


def test_an_evicted_file_is_compared_again(blocks):
    checked = LocalCheckedReads(blocks.local_path, min_cached=4)
    blocks_ = [stored(blocks, str(number), b"%d" % number) for number in range(20)]
    for _ in range(2):
        for number, block in enumerate(blocks_):
            assert checked.read(*block) == b"%d" % number
    assert len(checked._verified) + len(checked._verified_before) <= 8


def test_many_threads_can_read_one_file(blocks):
    block = stored(blocks, "a", b"x" * MIB)
    bad = stored(blocks, "b", b"x" * MIB)
    overwrite(blocks, bad[0], b"y")

    def read(number):
        return read_in_all_ways(blocks, bad if number % 2 else block)[1]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(read, range(32)))
    assert results == [b"x" * MIB, "data_damaged"] * 16
