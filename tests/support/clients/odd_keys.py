"""Nearly three hundred keys over which clients, encodings, proxies and file systems have stumbled.

They are made by rules, always the same, each of them a path beneath the branch `main`: the key in
S3's sense is `main/` and the path, at most 1,024 bytes together. What is stored under a path is the
path itself (`content_of`), so that objects that were mixed up are found out.

No client can express every key. `control_characters` and the others tell a client's exclusions from
the rest by what the keys have in common, and `file_paths` gives those that a folder can hold.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from itertools import chain

__all__ = [
    "BRANCH",
    "LONGEST",
    "ODD_KEYS",
    "content_of",
    "control_characters",
    "dot_segments",
    "edge_spaces",
    "empty_segments",
    "file_paths",
    "not_in_xml",
]

BRANCH = "main"
"""The branch that the longest keys leave room for."""

LONGEST = 1024 - len(BRANCH) - 1
"""The longest path, in bytes: a key of S3 has 1,024."""

_LONGEST_NAME = 255  # bytes of a file's name in the file systems that people have
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

_PERCENT = (
    "%", "%%", "100%", "% ", "%2", "%zz", "%00", "%0A", "%20", "%25", "%2520", "%25zz",
    "%2B", "%2F", "%2f", "a%2Fb", "%2E%2E", "%3Fx", "%C3%A9", "%c3%a9", "%E2%82", "%u00e9",
)  # fmt: skip
"""What decoding once too often, or too rarely, turns into another key."""

_SPACES = (
    " ", "  ", "a b", "a  b", "a+b", "a+ b", "a%20b", "a%2Bb", "++", "+ +",
    " a", "a ", " a/b ", "a / b", "a/ /b", "a/ ", "\u00a0a\u00a0", "\u3000", "a\u2003b",
)  # fmt: skip
"""A plus is a space in some encodings, and spaces at ends get trimmed."""

_SLASHES = (
    "/", "//", "/lead", "//lead", "a//b", "a///b", "a//", "trail/", "/both/", "a/b//c/",
    "n", "n/", "n/b", "n/b/", "n/b/c", "n-", "n.", "n0", "n!b",
)  # fmt: skip
"""Empty segments; a key that is also a folder, and neighbours that sort around its slash."""

_DOTS = (
    ".", "..", "...", "./a", "../a", "../../a", "a/.", "a/..", "a/./b", "a/../b", "a/.../b",
    ".hidden", "..a", "a.", "a..", "a/.b/..c", "./", "../",
)  # fmt: skip
"""Segments that paths of URLs and of files are freed from."""

_SYNTAX = (
    "?acl", "a?b=c", "a?b&c=d#e", "a#b", "a&b=c", "a;b=c", "a=b", "?", "a?versionId=null",
    "http://example.com/a", "s3://bucket/key", "C:\\a\\b", "a\\..\\b", "\\\\host\\share",
    "<Key>&amp;</Key>", "]]>", "<!--", "&#10;", "&lt;", '"quoted"', "'quoted'", '"a', "a'b",
    "$(a)", "${a}", "`a`", "*.csv", "[a-z]", "{a,b}", "a**b", "~", "~/a", "-", "--help",
    "a|b", "a\tb/c,d", "year=2024/month=01/part 0.parquet", "at=2024-01-01 00%3A00%3A00/_SUCCESS",
)  # fmt: skip
"""What means something in URLs, XML, shells, patterns, and names of partitions."""

_CONTROLS = (
    *(f"c{chr(number)}c" for number in range(0x20)),
    "\t", "\n", "\r\n", "\ta", "a\n", "del\x7f", "c1\x80\x9f", "next\x85line",
)  # fmt: skip
"""Characters that XML 1.0 has not, or changes on reading."""

_SCRIPTS = (
    "\u00e9", "e\u0301", "caf\u00e9/cafe\u0301", "\u212b", "\u00c5", "A\u030a", "\u0301",
    "\ud55c", "\u1112\u1161\u11ab", "\ufb01", "fi", "ß", "SS", "İ", "\u0131", "ς", "Σ",
    "😀", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "🇺🇳", "👍🏽", "\u2764\ufe0f", "\u2764",
    "\U0001d4b3", "𐍈", "漢字/かな", "ไทย", "हिन्दी", "שלום", "مرحبا/عالم", "a\u202eb", "\u200fb",
    "a\u200bb", "\ufeffa", "a\u2028b", "\u2029", "Ünïcödé & more?.txt", "a/é/\u0301",
    "\ue000", "\uff5e", "\U00010000", "\U0010ffff", "\ufffd", "\ufffe", "\uffff", "\ufdd0",
)  # fmt: skip
"""Composed and decomposed, right to left, invisible, four bytes, and no characters at all."""


def _punctuation() -> Iterator[str]:
    """Yields every mark of ASCII alone, between letters, and with the next one and a space."""
    marks = string.punctuation
    yield from marks
    yield from (f"a{mark}b" for mark in marks)
    yield from (f"{mark} {after}" for mark, after in zip(marks, marks[1:] + marks[0], strict=True))


def _long() -> Iterator[str]:
    """Yields paths as long as may be: of one name, of many, of what encoding makes longer."""
    for piece in ("x", "y/", "%", " ", "é", "漢", "😀"):
        count, left = divmod(LONGEST, len(piece.encode()))
        yield piece * count + "z" * left
    yield "/".join(["d" * 200] * 5) + "/" + "e" * (LONGEST - 5 * 201)


ODD_KEYS: tuple[str, ...] = tuple(
    dict.fromkeys(
        chain(
            _punctuation(),
            _PERCENT,
            _SPACES,
            _SLASHES,
            _DOTS,
            _SYNTAX,
            _CONTROLS,
            _SCRIPTS,
            _long(),
        )
    )
)
"""All of them, each once, in the order of the rules."""


def content_of(key: str) -> bytes:
    """Returns what is stored under a key of ODD_KEYS."""
    return key.encode()


def control_characters(key: str) -> bool:
    """Returns whether a key has characters of control, of C0 or C1, DEL among them."""
    return _CONTROL.search(key) is not None


def not_in_xml(key: str) -> bool:
    """Returns whether a key has characters that XML 1.0 cannot hold (its production 2)."""
    return _NOT_IN_XML.search(key) is not None


def dot_segments(key: str) -> bool:
    """Returns whether a key has a segment `.` or `..` (RFC 3986, 5.2.4)."""
    return not {".", ".."}.isdisjoint(key.split("/"))


def empty_segments(key: str) -> bool:
    """Returns whether a key begins or ends with a slash, or has two in a row."""
    return "" in key.split("/")


def edge_spaces(key: str) -> bool:
    """Returns whether one of a key's segments begins or ends with white space."""
    return any(segment != segment.strip() for segment in key.split("/"))


def file_paths(keys: Iterable[str] = ODD_KEYS) -> list[str]:
    """Returns those keys that can lie in one folder of POSIX, as paths of files: no empty segments,
    dots or NUL, names of at most 255 bytes, and none that is the folder of another.
    """
    fit = [
        key
        for key in keys
        if not (empty_segments(key) or dot_segments(key) or "\x00" in key)
        and all(len(name.encode()) <= _LONGEST_NAME for name in key.split("/"))
    ]
    folders = {key[:at] for key in fit for at, mark in enumerate(key) if mark == "/"}
    return [key for key in fit if key not in folders]
