r"""`regexp`: Python's regular expressions in Go's syntax, as far as both have it.

A pattern that takes for ever ends with the process. Go's classes `[[:alpha:]]` and its `\z` are
translated; `\pL` and flags in the middle of a pattern are errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from anabranch.actions.hooks.contract import HookContext

__all__ = ["regexp"]

_META = re.compile(r"[\\.+*?()|\[\]{}^$]")
_TRANSLATED = re.compile(r"\\z|\[:(\^?)(\w+):\]|\\.", re.DOTALL)
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def regexp(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `regexp`."""

    def match(pattern: str, text: str) -> bool:
        return _compile(pattern).search(text) is not None

    def quote_meta(text: str) -> str:
        return _META.sub(r"\\\g<0>", text)

    def compile(pattern: str) -> Mapping[str, Any]:  # noqa: A001  its name in Lua
        return _functions(_compile(pattern))

    return {"match": match, "quote_meta": quote_meta, "compile": compile}


def _functions(pattern: re.Pattern[str]) -> Mapping[str, Any]:
    """Returns the functions of a compiled pattern; a negative `n` stands for all matches."""

    def found(text: str, n: int) -> list[re.Match[str]]:
        matches = []
        for each in pattern.finditer(text) if n else ():
            matches.append(each)
            if len(matches) == n:
                break
        return matches

    def find(text: str) -> str:
        first = pattern.search(text)
        return "" if first is None else first[0]

    def find_submatch(text: str) -> list[str]:
        first = pattern.search(text)
        return [] if first is None else _groups(first)

    def find_all(text: str, n: int) -> list[str]:
        return [each[0] for each in found(text, n)]

    def find_all_submatch(text: str, n: int) -> list[list[str]]:
        return [_groups(each) for each in found(text, n)]

    return {
        "find": find,
        "find_submatch": find_submatch,
        "find_all": find_all,
        "find_all_submatch": find_all_submatch,
    }


def _groups(match: re.Match[str]) -> list[str]:
    return [match[0], *(group or "" for group in match.groups())]


def _compile(pattern: str) -> re.Pattern[str]:
    # in Go, \d, \w, \s and \b are of ASCII alone
    return re.compile(_TRANSLATED.sub(_translate, pattern), re.ASCII)


def _translate(match: re.Match[str]) -> str:
    if match[0] == r"\z":
        return r"\Z"
    name = match[2]
    if name is None:
        return match[0]
    if match[1] or name not in _CLASSES:
        raise ValueError(f"error parsing regexp: invalid character class range: `{match[0]}`")
    return _CLASSES[name]
