"""A reference expression: a name, and the way from it through the history.

    expression = base { ("~" | "^") [ digits ] }
               | base ( "@" | "$" )

The base is everything before the first of ``~ ^ @ $``; what it names is for the repository to
say. The text is kept as written: ``main~`` and ``main~1`` mean the same and remain two texts.
Source: lakeFS 1.84's references, which follow git's gitrevisions page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from anabranch.errors import Invalid

__all__ = ["MAX_COUNT", "Expression", "Modifier", "View", "parse_expression"]

View = Literal["", "@", "$"]

MAX_COUNT = 10**18
"""Numbers beyond this count as this: no history is as long, and a text of a million digits must
not cost what turning it into a number costs.
"""

_FIRST_SYMBOL = re.compile(r"[~^@$]")
_MODIFIER = re.compile(r"([~^@$])([^~^@$]*)")
_DIGITS = re.compile(r"[0-9]*")
_BLANK = re.compile(r"\s", re.ASCII)
_SHOWN = 80


class Modifier(msgspec.Struct, frozen=True):
    """One step back: ``~n`` to the n-th first-parent ancestor, ``^n`` to the n-th parent."""

    symbol: Literal["~", "^"]
    digits: str = ""

    @property
    def count(self) -> int:
        """The number behind the symbol, 1 when there is none, at most MAX_COUNT."""
        if not self.digits:
            return 1
        significant = self.digits.lstrip("0")
        if len(significant) >= len(str(MAX_COUNT)):
            return MAX_COUNT
        return int(significant or "0")

    def __str__(self) -> str:
        return self.symbol + self.digits


class Expression(msgspec.Struct, frozen=True):
    """A parsed expression; `str()` gives the text back.

    `view` is "@" for a branch's committed head without its staging area, "$" for the head with
    it, and empty where the expression does not say. Only an expression without modifiers has one.
    """

    base: str
    modifiers: tuple[Modifier, ...] = ()
    view: View = ""

    def __str__(self) -> str:
        return self.base + "".join(map(str, self.modifiers)) + self.view


@lru_cache(maxsize=256)
def parse_expression(text: str) -> Expression:
    """Returns the expression that `text` writes.

    Raises Invalid (kind invalid_reference) where the text is no expression; whether the names in
    it exist is another question.
    """
    if not text:
        raise _invalid(text, "it is empty", "Name a branch, a tag or a commit.")
    if _BLANK.search(text):
        raise _invalid(text, "it holds white space", "Names of branches and tags hold none.")
    first = _FIRST_SYMBOL.search(text)
    if first is None:
        return Expression(text)
    base = text[: first.start()]
    if not base:
        raise _invalid(
            text,
            f"nothing stands before {first[0]}",
            "Begin with a branch, a tag or a commit, as in main~2.",
        )
    parts: list[tuple[str, str]] = _MODIFIER.findall(text, first.start())
    if any(symbol in "@$" for symbol, _ in parts):
        return _parse_view(text, base, parts)
    return Expression(base, tuple(_parse_modifier(text, *part) for part in parts))


def _parse_view(text: str, base: str, parts: list[tuple[str, str]]) -> Expression:
    symbol = next(symbol for symbol, _ in parts if symbol in "@$")
    if len(parts) > 1 or parts[0][1]:
        hint = f"{symbol} ends an expression and stands behind a branch's name alone: main{symbol}."
        if "@{" in text:
            hint = "There is no reflog: name a commit of the branch's log instead."
        raise _invalid(text, f"something else stands with {symbol}", hint)
    return Expression(base, view="@" if symbol == "@" else "$")


def _parse_modifier(text: str, symbol: str, digits: str) -> Modifier:
    if not _DIGITS.fullmatch(digits):
        raise _invalid(
            text,
            f"{_shortened(digits)} is no number",
            f"Behind {symbol} stands a whole number or nothing: main{symbol}2.",
        )
    return Modifier("~" if symbol == "~" else "^", digits)


def _invalid(text: str, reason: str, hint: str) -> Invalid:
    return Invalid(
        f"reference {_shortened(text)}: {reason}: invalid value: validation error",
        kind="invalid_reference",
        hint=hint,
    )


def _shortened(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
