"""Checksums against published check values, hashlib, botocore and a model bit by bit."""

from __future__ import annotations

import hashlib
import random
import threading

import pytest
from botocore.httpchecksum import _CHECKSUM_CLS
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel
from anabranch.s3.payloads.checksums import ALGORITHMS, decode, encode

# the CRC catalogue's, of b"123456789"
CHECK = {
    "crc32": "cbf43926",
    "crc32c": "e3069283",
    "crc64nvme": "ae8b14860a799888",
}


@pytest.mark.parametrize("name", CHECK)
def test_check_values(name):
    hasher = ALGORITHMS[name].new()
    hasher.update(b"1234")
    hasher.update(b"")
    hasher.update(b"56789")
    assert hasher.digest().hex() == CHECK[name]


@pytest.mark.parametrize("name", ["md5", "sha1", "sha256", "sha512"])
def test_digests(name):
    hasher = ALGORITHMS[name].new()
    hasher.update(b"123456789")
    assert hasher.digest() == hashlib.new(name, b"123456789").digest()


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.sample(3)
def test_checksum_sizes(name):
    algorithm = ALGORITHMS[name]
    assert len(algorithm.new().digest()) == algorithm.size


@pytest.mark.parametrize("name", sorted(set(_CHECKSUM_CLS) & set(ALGORITHMS)))
def test_botocore(name):
    body = random.Random(name).randbytes(5000)
    ours = ALGORITHMS[name].new()
    ours.update(body)
    assert encode(ours.digest()) == _CHECKSUM_CLS[name]().handle(body)


def bit_by_bit(data, polynomial, ones):
    crc = ones
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (polynomial if crc & 1 else 0)
    return crc ^ ones


@given(st.binary(max_size=100), st.integers(0, 100))
def test_the_kernel_computes_what_the_polynomials_say(data, cut):
    left, right = data[:cut], data[cut:]
    crc32c = _kernel.crc32c(right, _kernel.crc32c(left))
    assert crc32c == bit_by_bit(data, 0x82F63B78, 0xFFFF_FFFF)
    crc64 = _kernel.crc64nvme(bytearray(right), _kernel.crc64nvme(left))
    assert crc64 == bit_by_bit(data, 0x9A6C9329AC4BC9B5, 0xFFFF_FFFF_FFFF_FFFF)


def test_long_buffers_from_several_threads():
    data = random.Random(1).randbytes(300_000)
    whole = 0
    for at in range(0, len(data), 1000):
        whole = _kernel.crc64nvme(data[at : at + 1000], whole)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(_kernel.crc64nvme(data))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [whole] * 4


@pytest.mark.parametrize("name", ["crc32c", "crc64nvme"])
def test_invalid_initial_checksum_raises(name):
    function = getattr(_kernel, name)
    for value in (-1, 2**64):
        with pytest.raises(OverflowError):
            function(b"", value)
    with pytest.raises(TypeError):
        function("text")


@pytest.mark.parametrize(
    "text",
    ["", "AAAA", "AAAAAAA=", "AAAAAA=", "AAAAAA", "A A A A A A = =", "é", "-_AAAA==", "AAAAAR=="],
)
def test_malformed_crc32_decodes_to_none(text):
    assert decode("crc32", text) is None


def test_text_and_bytes():
    assert decode("crc32", "AAAAAQ==") == b"\0\0\0\1"
    assert encode(b"\0\0\0\1") == "AAAAAQ=="
