"""Whole reads of files that are compared with their MD5."""

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


def all_ways(blocks, block):
    """Returns what each way of reading a block gives: its bytes, or the kind of the error."""
    given = []
    for read in (
        lambda: blocks.checked.read_if_cached(*block),
        lambda: blocks.checked.read(*block),
        lambda: b"".join(blocks.checked.get(*block)),
        lambda: blocks.checked.require(*block) or b"there",
    ):
        try:
            given.append(read())
        except Gone as error:
            given.append(error.kind)
    return given


@pytest.mark.parametrize("size", [0, 1, 70_000, MIB, MIB + 1, 3 * MIB])
def test_good_bytes_are_given_by_all_ways(blocks, size):
    body = os.urandom(size)
    block = stored(blocks, "a", body)
    for _ in range(2):
        at_once, read, got, there = all_ways(blocks, block)
        assert at_once in {None, body}
        assert (read, got, there) == (body, body, b"there")


@pytest.mark.parametrize("size", [1, 70_000, MIB])
def test_other_bytes_are_given_by_none(blocks, size):
    address, _, md5 = stored(blocks, "a", b"x" * size)
    overwrite(blocks, address, b"y")
    given = all_ways(blocks, (address, size, md5))
    assert given == [None, "data_damaged", "data_damaged", "data_damaged"]
    # of the same file, something else may be true
    block = address, size, hashlib.md5(b"y" + b"x" * (size - 1)).hexdigest()
    assert all_ways(blocks, block)[1:] == [b"y" + b"x" * (size - 1)] * 2 + [b"there"]


def test_of_a_large_damaged_file_the_last_piece_is_kept_back(blocks):
    address, size, md5 = stored(blocks, "a", b"x" * (3 * MIB))
    overwrite(blocks, address, b"y")
    pieces = blocks.checked.get(address, size, md5)
    assert [len(next(pieces)) for _ in range(2)] == [MIB, MIB]
    with pytest.raises(Gone, match="damaged"):
        next(pieces)
    with pytest.raises(Gone, match="damaged"):
        blocks.checked.get(address, size, md5)


def test_a_missing_shorter_or_longer_file_raises_before_the_first_piece(blocks):
    address, size, md5 = stored(blocks, "a", b"x" * 10)
    path = Path(blocks.local_path(address))
    for body, kind in ((b"x" * 9, "data_missing"), (b"x" * 11, "data_damaged")):
        path.write_bytes(body)
        assert all_ways(blocks, (address, size, md5)) == [None, kind, kind, kind]
    path.unlink()
    missing = "data_missing"
    assert all_ways(blocks, (address, size, md5)) == [None, missing, missing, missing]


def test_a_file_is_compared_again_after_it_was_forgotten(blocks):
    checked = LocalCheckedReads(blocks.local_path, min_cached=4)
    made = [stored(blocks, str(number), b"%d" % number) for number in range(20)]
    for _ in range(2):
        for number, block in enumerate(made):
            assert checked.read(*block) == b"%d" % number
    assert len(checked._verified) + len(checked._verified_before) <= 8


def test_many_threads_compare_one_file(blocks):
    block = stored(blocks, "a", b"x" * MIB)
    bad = stored(blocks, "b", b"x" * MIB)
    overwrite(blocks, bad[0], b"y")

    def read(number):
        return all_ways(blocks, bad if number % 2 else block)[1]

    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(read, range(32)))
    assert given == [b"x" * MIB, "data_damaged"] * 16
