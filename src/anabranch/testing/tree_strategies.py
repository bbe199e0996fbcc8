"""Hypothesis strategies for the records of trees, and for changes to them.

There are few keys, so that changes often have the same key. Some keys always end a range, so that a
tree of a hundred records has many ranges; some values fill a block.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from anabranch._kernel import Value
    from anabranch.testing.tree_model import Changes, Records

__all__ = [
    "CUTS",
    "KEYS",
    "changes",
    "delimiters",
    "keys",
    "pieces",
    "prefixes",
    "records",
    "value",
]

CUTS = (
    *(b"a/20230", b"a/58350", b"a/60630", b"a/80728"),
    *(b"b/135795", b"b/176862", b"b/20358", b"b/208170"),
    *(b"c/285541", b"c/68650", b"c/72042", b"c/76734"),
    *(b"d/137456", b"d/139234", b"d/25812", b"d/54416"),
)
"""Keys that end ranges: their 64-bit FNV-1a hashes are multiples of 50,000."""

_OTHERS = (
    *(folder + tail for folder in (b"a", b"b", b"c", b"d") for tail in (b"", b"/", b"//", b"0")),
    *(folder + b"/%d" % number for folder in (b"a", b"b", b"c", b"d") for number in range(1, 10)),
    *(cut + tail for cut in CUTS for tail in (b"/", b"/x", b"0")),
    *(b"b/1/x/%d" % number for number in range(10)),
    *(b"\xff" * length for length in (1, 2, 3)),
    "d/ä/€".encode(),
    b"\x00",
    b"a\x00",
)
KEYS = tuple(sorted({*CUTS, *_OTHERS}))
"""All keys that the strategies draw."""


def value(key: bytes, version: int, address: int = 0) -> Value:
    """Returns a value whose identity depends on the version, not on the address. Its data, of up to
    1.6 KB, do not compress.
    """
    identity = hashlib.sha256(b"%d" % version).digest()
    noise = hashlib.shake_128(b"%s %d %d" % (key, version, address))
    return identity, noise.digest(len(key) % 5 * 400)


keys = st.sampled_from(KEYS)
prefixes = st.sampled_from(
    (b"", b"a", b"a/", b"b/1", b"b/1/", b"c/7", b"d/", b"\xff", b"zz", b"a/2")
)
delimiters = st.sampled_from((b"", b"/", b"//", b"/x", b"2", b"\xff"))


@st.composite
def records(draw: st.DrawFn) -> Records:
    """Draws records, with a random byte for each key. Half of the draws have nearly all keys."""
    dense = draw(st.booleans())
    choices = draw(st.binary(min_size=len(KEYS), max_size=len(KEYS)))
    return {
        key: value(key, byte // 8 % 3)
        for key, byte in zip(KEYS, choices, strict=True)
        if (byte % 8 != 0 if dense else byte % 8 == 1)
    }


@st.composite
def changes(draw: st.DrawFn, max_size: int = 20) -> Changes:
    """Draws changes, sorted by key; some have no effect."""
    versions = st.one_of(st.none(), st.integers(0, 3))
    chosen = draw(st.dictionaries(keys, versions, max_size=max_size))
    return [
        (key, None if version is None else value(key, version, 1))
        for key, version in sorted(chosen.items())
    ]


def pieces(length: int) -> st.SearchStrategy[list[int]]:
    """Draws the sizes of the chunks that `length` items are divided into."""
    return st.lists(st.integers(1, max(1, length)), min_size=1)
