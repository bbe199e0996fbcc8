"""Checksums that are computed while reading, compared with hashlib."""

from __future__ import annotations

import hashlib
import threading
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.blocks.hashing import BackgroundHasher

LARGE = bytes(range(256)) * 1024


def hashing_threads():
    return [thread for thread in threading.enumerate() if thread.name == "hashing"]


@given(st.lists(st.one_of(st.binary(max_size=200), st.sampled_from([LARGE, LARGE * 2, LARGE[1:]]))))
def test_digests_are_those_of_hashlib(pieces):
    md5, sha256 = hashlib.md5(), hashlib.sha256()
    with BackgroundHasher((md5, sha256)) as hashing:
        for piece in pieces:
            hashing.update(piece)
    assert md5.digest() == hashlib.md5(b"".join(pieces)).digest()
    assert sha256.digest() == hashlib.sha256(b"".join(pieces)).digest()
    assert not hashing_threads()


def test_small_bodies_are_hashed_without_a_thread():
    with BackgroundHasher((hashlib.md5(),)) as hashing:
        hashing.update(b"a" * 1000)
        assert not hashing_threads()
        hashing.update(LARGE)
        assert len(hashing_threads()) == 1


def test_without_digests_no_thread_is_started():
    with BackgroundHasher(()) as hashing:
        hashing.update(LARGE)
        assert not hashing_threads()


class Broken:
    def update(self, _):
        raise MemoryError

    def digest(self):
        return b""


def test_an_error_of_a_hasher_is_raised():
    hashing = BackgroundHasher((Broken(),))
    for _ in range(10):
        hashing.update(LARGE)
    with pytest.raises(MemoryError):
        hashing.finish()
    assert not hashing_threads()


def test_a_failed_read_ends_the_thread():
    def read():
        with BackgroundHasher((hashlib.md5(),)) as hashing:
            hashing.update(LARGE)
            raise ConnectionError

    with pytest.raises(ConnectionError):
        read()
    assert not hashing_threads()


def test_the_queue_of_chunks_is_bounded():
    go_on, taken = threading.Event(), []

    class Slow:
        def update(self, data):
            go_on.wait()
            taken.append(zlib.crc32(data))

        def digest(self):
            return b""

    given_away = []

    def give():
        with BackgroundHasher((Slow(),)) as hashing:
            for number in range(8):
                hashing.update(LARGE + bytes([number]))
                given_away.append(number)

    giver = threading.Thread(target=give)
    giver.start()
    while len(given_away) < 2:
        giver.join(0.01)
    giver.join(0.3)
    assert len(given_away) == 2
    go_on.set()
    giver.join()
    assert taken == [zlib.crc32(LARGE + bytes([number])) for number in range(8)]
