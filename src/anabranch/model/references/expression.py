"""Reference expressions: a name, followed by modifiers that select an ancestor or a view.

    expression = base [ "@{" moment "}" ] { ("~" | "^") [ digits ] }
               | base ( "@" | "$" )

The base is everything before the first of ``~ ^ @ $``; the repository resolves it. Expressions
preserve their text: ``main~`` and ``main~1`` are equivalent but remain different texts. Source:
lakeFS 1.84's references, which follow git's gitrevisions page. With a moment, which lakeFS does not
have, an expression is what the reference was then; `moment.py` has its forms.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from anabranch.errors import Invalid

__all__ = ["MAX_COUNT", "Expression", "Modifier", "View", "has_steps", "parse_expression"]

View = Literal["", "@", "$"]

MAX_COUNT = 10**18
"""Larger numbers are read as this one: no history is as long, and converting a text of a million
digits to a number would be expensive.
"""

_WITHOUT_STEPS = re.compile(r"[^~^@$]*[@$]?")
_FIRST_SYMBOL = re.compile(r"[~^@$]")
_MODIFIER = re.compile(r"([~^@$])([^~^@$]*)")
_DIGITS = re.compile(r"[0-9]*")
_MOMENT = re.compile(r"([^~^@$\s]+)@\{([^{}\n]*)\}(.*)", re.DOTALL)
_BLANK = re.compile(r"\s", re.ASCII)
_MAX_SHOWN = 80


class Modifier(msgspec.Struct, frozen=True):
    """One step back: ``~n`` to the n-th first-parent ancestor, ``^n`` to the n-th parent."""

    symbol: Literal["~", "^"]
    digits: str = ""

    @property
    def count(self) -> int:
        """The number after the symbol, 1 without one, at most MAX_COUNT."""
        if not self.digits:
            return 1
        significant = self.digits.lstrip("0")
        if len(significant) >= len(str(MAX_COUNT)):
            return MAX_COUNT
        return int(significant or "0")

    def __str__(self) -> str:
        return self.symbol + self.digits


class Expression(msgspec.Struct, frozen=True):
    """A parsed expression; `str()` returns its text.

    `view` is "@" for a branch's head without staged changes, "$" for the head with them, and empty
    if the expression does not specify it. Only an expression without modifiers has a view.
    `moment` is the text between the braces, None without them.
    """

    base: str
    modifiers: tuple[Modifier, ...] = ()
    view: View = ""
    moment: str | None = None

    def __str__(self) -> str:
        moment = "" if self.moment is None else f"@{{{self.moment}}}"
        return self.base + moment + "".join(map(str, self.modifiers)) + self.view


def branch_of(reference: str) -> str:
    """Returns the branch that a reference is, or is a view of: `main` for `main`, `main@` and
    `main$`. Other expressions are returned as they are.
    """
    return reference[:-1] if reference.endswith(("@", "$")) else reference


def has_steps(text: str) -> bool:
    """Returns whether a text is more than a name or a view of it: it may be thousands of steps."""
    return _WITHOUT_STEPS.fullmatch(text) is None


@lru_cache(maxsize=256)
def parse_expression(text: str) -> Expression:
    """Parses a reference expression.

    Raises Invalid (kind invalid_reference) for a malformed text; does not check whether the names
    exist.
    """
    if not text:
        raise _invalid(text, "it is empty", "Name a branch, a tag or a commit.")
    at_moment = _MOMENT.fullmatch(text)
    if at_moment is not None:
        base, moment, rest = at_moment.groups()
        if "@{" in rest:
            raise _invalid(text, "it has two moments", "Name one: main@{yesterday}.")
        parsed = parse_expression(base + rest)
        if parsed.view or parsed.base != base:
            raise _invalid(
                text,
                "something else stands behind the moment",
                "Behind it stand steps back, or nothing: main@{yesterday}~2.",
            )
        return Expression(base, parsed.modifiers, moment=moment)
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
            hint = "A moment stands behind the name: main@{2 hours ago}."
        raise _invalid(text, f"something else stands with {symbol}", hint)
    return Expression(base, view="@" if symbol == "@" else "$")


def _parse_modifier(text: str, symbol: str, digits: str) -> Modifier:
    if not _DIGITS.fullmatch(digits):
        raise _invalid(
            text,
            f"{_shorten(digits)} is not a number",
            f"Behind {symbol} stands a whole number or nothing: main{symbol}2.",
        )
    return Modifier("~" if symbol == "~" else "^", digits)


def _invalid(text: str, reason: str, hint: str) -> Invalid:
    return Invalid(
        f"reference {_shorten(text)}: {reason}: invalid value: validation error",
        kind="invalid_reference",
        hint=hint,
    )


def _shorten(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…")
