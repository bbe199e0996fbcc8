"""Records of many shapes, the same in every run, for comparisons with other writers of tables.

Each shape is sorted records, (key, (identity, data)), that press on one rule of the format: how
keys share prefixes, where blocks, index partitions and ranges are cut, what gets compressed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator

from support.session.sizes import sized

Record = tuple[bytes, tuple[bytes, bytes]]

RAGGEDNESS = 50_000
IDENTITY = bytes(range(32))


def objects(count: int = sized(120_000, weekly=600_000)) -> Iterator[Record]:
    """What a lake looks like: partitioned paths, random identities, entries of about 125 bytes."""
    dice = random.Random(1)
    time = b"\x12\x0c\x08\xa0\xd1\xb6\xb9\x06\x10\x80\x84\xaf\x5f"
    for number in range(count):
        table, month = divmod(number, count // 10)
        name = b"tables/t%02d/month=%02d/part-%06d.parquet" % (table, month * 120 // count, number)
        address, checksum = dice.randbytes(10).hex(), dice.randbytes(16).hex()
        data = b"\n\x19data/%s%s\x18\x90\xa1\x0f" % (address.encode(), time)
        yield name, (dice.randbytes(32), data + b'" %s0\x01' % checksum.encode())


def numbered_paths(count: int = 600_000) -> Iterator[Record]:
    """Highly compressible: everything but a number is always the same."""
    for number in range(count):
        folder, file = divmod(number, 1000)
        yield b"p%03d/f%05d" % (folder, file), (IDENTITY, b"the same")


def short_keys(count: int = 300_000) -> Iterator[Record]:
    """One to three bytes, without identities and data."""
    ones = (bytes([a]) for a in range(256))
    twos = (bytes([a, b]) for a in range(0, 256, 3) for b in range(256))
    step = 256**3 // count
    threes = (number.to_bytes(3, "big") for number in range(0, 256**3, step))
    for key in sorted({*ones, *twos, *threes}):
        yield key, (b"", b"")


def byte_soup(count: int = 200_000) -> Iterator[Record]:
    """Keys of bytes about which the rules for separators and shared prefixes have opinions: what
    follows a key in a block are the bytes 1, 0, 0, … The empty key is among them.
    """
    dice = random.Random(2)
    alphabet = b"\x00\x01\x01\x02\x7f\xfe\xff\xff"
    keys = {b""}
    while len(keys) < count:
        keys.add(bytes(dice.choices(alphabet, k=dice.randrange(1, 14))))
    for number, key in enumerate(sorted(keys)):
        yield key, (b"", b"%d" % number * (number % 5))


def deep_folders(count: int = 150_000) -> Iterator[Record]:
    """Hundreds of bytes shared, so that the cut rule, which counts whole keys, errs far."""
    stems = [b"/".join([b"folder-%d" % stem] * 35) for stem in range(100, 110)]
    each = count // len(stems)
    for stem, number in itertools.product(stems, range(each)):
        yield stem + b"/%07d" % number, (IDENTITY, b"x" * (number % 40))


def keys_of_every_length(count: int = 30_000) -> Iterator[Record]:
    """One to 1,024 random bytes."""
    dice = random.Random(3)
    keys = {dice.randbytes(dice.randrange(1, 1025)) for _ in range(count)}
    for key in sorted(keys):
        yield key, (IDENTITY, key[:7])


def large_values(count: int = 6_000) -> Iterator[Record]:
    """Around the size of a block, and far beyond."""
    dice = random.Random(4)
    for number in range(count):
        size = dice.choice([dice.randrange(3500, 4200), dice.randrange(0, 9000)])
        if number % 200 == 0:
            size = dice.randrange(60_000, 300_000)
        data = dice.randbytes(size) if number % 3 else bytes([number % 256]) * size
        yield b"large/%06d" % number, (IDENTITY, data)


def cut_by_size(count: int = 24_000) -> Iterator[Record]:
    """Incompressible, 20 MiB long before a hash would cut."""
    dice = random.Random(5)
    for number in range(count):
        yield b"random/%06d" % number, (dice.randbytes(32), dice.randbytes(2500))


def half_compressible(count: int = 200_000) -> Iterator[Record]:
    """Around the eighth that compression must save to be worth it."""
    dice = random.Random(6)
    for number in range(count):
        noise = dice.randbytes(30 + number // 500 % 30)
        yield b"%06d" % number, (noise[:20], noise[20:] + b"....."[: number // 1000 % 6])


def lone_records(count: int = 400_000) -> Iterator[Record]:
    """Only records behind which a range ends, here and there with another one between them."""
    for number in range(count):
        key = b"lone/%06d" % number
        if fnv1a(key) % RAGGEDNESS == 0:
            if number % 2:
                yield key[:-1], (IDENTITY, b"between")
            yield key, (IDENTITY, b"")


def one_record() -> Iterator[Record]:
    """The smallest tree."""
    yield b"k", (b"i", b"d")


SHAPES: list[Callable[[], Iterable[Record]]] = [
    objects,
    numbered_paths,
    short_keys,
    byte_soup,
    deep_folders,
    keys_of_every_length,
    large_values,
    cut_by_size,
    half_compressible,
    lone_records,
    one_record,
]


def fnv1a(key: bytes) -> int:
    """Returns the 64-bit FNV-1a hash, which decides where ranges end."""
    value = 0xCBF29CE484222325
    for byte in key:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value
