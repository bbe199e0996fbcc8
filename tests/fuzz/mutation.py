"""Mutations of bytes: what a fuzzer does to a seed, whatever its format.

A mutator draws from one random source, so a number repeats all inputs. Half of the inputs of a
format with a shape (`shapes.py`) are changed in its structure, and some of them in their bytes as
well.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from fuzz.shapes import Shape
from fuzz.structures import mutate_tree

__all__ = ["Mutator", "cut"]

MAX_BYTES = 1 << 16
"""The length of an input, beyond which it is cut."""

_NUMBERS = tuple(
    str(number).encode()
    for bits in (7, 8, 15, 16, 31, 32, 53, 63, 64, 128)
    for number in ((1 << bits) - 1, 1 << bits, -(1 << bits))
)
_INTERESTING = (
    *_NUMBERS,
    *(b"", b"\0", b"\xff", b"\r\n", b"\n", b"\r", b"\t", b" ", b"\xc3\xa9", b"\xed\xa0\x80"),
    *(b"0", b"-1", b"1e999", b"NaN", b"0x10", b"00", b"+1", b"1_0", b"\xd9\xa3", b"9" * 400),
    *(b"..", b"/", b"//", b"%00", b"%zz", b"\\", b'"', b"'", b"${", b"*", b"\xef\xbb\xbf"),
    *(bytes([0, 0, 0, 0]), b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"),
)


class Mutator:
    """Makes inputs of `seeds`: `tokens` are words of the format, `shape` its structure, if any."""

    def __init__(
        self,
        source: random.Random,
        seeds: Sequence[bytes],
        tokens: Sequence[bytes] = (),
        shape: Shape | None = None,
    ) -> None:
        self._random = source
        self._seeds = seeds
        self._words = (*tokens, *_INTERESTING)
        self._tokens = tokens or _INTERESTING
        self._shape = shape
        self._kinds: tuple[Callable[[bytes], bytes], ...] = (
            *(self._flip, self._set_byte, self._cut, self._repeat, self._splice),
            *(self._insert_word, self._overwrite_word, self._insert_token, self._replace_number),
        )

    def input(self) -> bytes:
        """Returns the next input."""
        data = self._random.choice(self._seeds)
        if self._shape is not None and self._random.random() < 0.6:
            data = self._restructure(data, self._shape)
            times = self._random.choice((0, 0, 0, 1))
        else:
            times = self._random.choice((0, 1, 1, 1, 2, 3, 8))
        for _ in range(times):
            data = self._random.choice(self._kinds)(data)
        return data[:MAX_BYTES]

    def _restructure(self, data: bytes, shape: Shape) -> bytes:
        tree = shape.read(data)
        if tree is None:
            return data
        for _ in range(self._random.choice((1, 1, 2, 4))):
            tree = mutate_tree(self._random, tree, [word.decode("latin-1") for word in self._words])
        return shape.write(tree)

    def _at(self, data: bytes) -> int:
        return self._random.randrange(len(data) + 1)

    def _span(self, data: bytes) -> tuple[int, int]:
        start = self._at(data)
        return start, start + int(self._random.paretovariate(0.7))

    def _flip(self, data: bytes) -> bytes:
        return self._with_byte(data, lambda byte: byte ^ 1 << self._random.randrange(8))

    def _set_byte(self, data: bytes) -> bytes:
        return self._with_byte(data, lambda _: self._random.randrange(256))

    def _with_byte(self, data: bytes, change: Callable[[int], int]) -> bytes:
        if not data:
            return data
        at = self._random.randrange(len(data))
        return data[:at] + bytes([change(data[at])]) + data[at + 1 :]

    def _cut(self, data: bytes) -> bytes:
        start, end = self._span(data)
        return data[:start] + (b"" if self._random.random() < 0.2 else data[end:])

    def _repeat(self, data: bytes) -> bytes:
        start, end = self._span(data)
        times = self._random.choice((1, 1, 2, 10, 300))
        return data[:end] + data[start:end][:2000] * times + data[end:]

    def _splice(self, data: bytes) -> bytes:
        other = self._random.choice(self._seeds)
        start, end = self._span(other)
        if self._random.random() < 0.5:
            return data[: self._at(data)] + other[start:]
        at = self._at(data)
        return data[:at] + other[start:end] + data[at:]

    def _insert_word(self, data: bytes) -> bytes:
        at = self._at(data)
        return data[:at] + self._random.choice(self._words) + data[at:]

    def _insert_token(self, data: bytes) -> bytes:
        at = self._at(data)
        return data[:at] + self._random.choice(self._tokens) + data[at:]

    def _overwrite_word(self, data: bytes) -> bytes:
        at, word = self._at(data), self._random.choice(self._words)
        return data[:at] + word + data[at + len(word) :]

    def _replace_number(self, data: bytes) -> bytes:
        """Replaces a run of digits, or changes a byte where there is none after a random place."""
        start = at = self._at(data)
        while start < len(data) and not 48 <= data[start] < 58:
            start += 1
        end = start
        while end < len(data) and 48 <= data[end] < 58:
            end += 1
        if start == end:
            return self._set_byte(data[:at]) + data[at:]
        return data[:start] + self._random.choice(_NUMBERS) + data[end:]


def cut(source: random.Random, data: bytes) -> list[bytes]:
    """Returns the bytes in pieces of random lengths, as a network delivers them."""
    if source.random() < 0.2:
        return [data[at : at + 1] for at in range(len(data))]
    places = sorted(source.randrange(len(data) + 1) for _ in range(source.randrange(6)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
