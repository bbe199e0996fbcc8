r"""Splits an instruction into words: separates at blanks, removes quotes, substitutes values.

    bare ADD      a/b.csv   key=value   $5   back\slash
    "quoted"      blanks are part of it; \" \\ and \$ are the characters themselves
    'literal'     everything up to the next ' is part of it
    ${NAME}       the value of a build argument, also in "quotes"; \${ is no such thing

Adjacent parts form one word: author="Jane Doe" is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from anabranch.model.lakefile.instructions import MAX_EXPANDED_CHARACTERS, MAX_WORD_CHARACTERS
from anabranch.model.lakefile.lines import Line

__all__ = ["Arguments", "Word", "split_words"]

_BLANK = re.compile(r"[ \t]*")
_LITERAL = re.compile(r"[^']*")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLAIN = {False: re.compile(r"[^ \t\"'$\\]+"), True: re.compile(r"[^\"$\\]+")}
_ESCAPED = {False: "$", True: '"\\$'}


class Word(NamedTuple):
    """A word and its offset in the line's text."""

    text: str
    offset: int


class Arguments:
    """The arguments that a file has declared so far, and how many characters their values have
    taken in it: an argument may hold others several times, so a short file could take all memory.
    """

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.expanded = 0


def split_words(line: Line, start: int, arguments: Arguments) -> Iterator[Word]:
    """Yields the words of a line from an offset on. Raises Invalid for an unclosed quote, for a
    `${NAME}` that is not an argument, and for values that are too long together.
    """
    reader = _Reader(line, arguments)
    at = reader.skip_blanks(start)
    while at < len(line.text):
        text, end = reader.word(at)
        yield Word(text, at)
        at = reader.skip_blanks(end)


class _Reader:
    """Reads from offsets of one line; each method returns the offset after what it has read."""

    def __init__(self, line: Line, arguments: Arguments) -> None:
        self._line = line
        self._text = line.text
        self._arguments = arguments
        self._expanded = 0

    def skip_blanks(self, at: int) -> int:
        match = _BLANK.match(self._text, at)
        return at if match is None else match.end()

    def word(self, at: int) -> tuple[str, int]:
        parts = []
        self._expanded = 0
        while at < len(self._text) and self._text[at] not in " \t":
            if self._text[at] == "'":
                part, at = self._literal(at)
            elif self._text[at] == '"':
                part, at = self._parse_quoted(at)
            else:
                part, at = self._part(at, quoted=False)
            parts.append(part)
        return "".join(parts), at

    def _literal(self, at: int) -> tuple[str, int]:
        match = _LITERAL.match(self._text, at + 1)
        if match is None or match.end() == len(self._text):
            raise self._line.error(at, "expected a closing ' for this one")
        return match[0], match.end() + 1

    def _parse_quoted(self, start: int) -> tuple[str, int]:
        parts = []
        at = start + 1
        while not self._text.startswith('"', at):
            if at >= len(self._text):
                raise self._line.error(start, 'expected a closing " for this one')
            part, at = self._part(at, quoted=True)
            parts.append(part)
        return "".join(parts), at + 1

    def _part(self, at: int, *, quoted: bool) -> tuple[str, int]:
        """Reads plain characters, an escaped character, or a value."""
        plain = _PLAIN[quoted].match(self._text, at)
        if plain is not None:
            return plain[0], plain.end()
        if self._text[at] == "\\" and self._text[at + 1 : at + 2] in tuple(_ESCAPED[quoted]):
            return self._text[at + 1], at + 2
        if self._text.startswith("${", at):
            return self._value(at)
        return self._text[at], at + 1

    def _value(self, at: int) -> tuple[str, int]:
        match = _VARIABLE.match(self._text, at)
        if match is None:
            raise self._line.error(
                at, "expected ${NAME}, of letters, digits and underscores", r"Write \${ for ${."
            )
        value = self._arguments.values.get(match[1])
        if value is None:
            raise self._line.error(
                at,
                f"expected an argument that is declared above, match ${{{match[1]}}}",
                f"Declare it: ARG {match[1]}",
            )
        self._count(at, match[0], len(value))
        return value, match.end()

    def _count(self, at: int, name: str, length: int) -> None:
        """Counts the characters of a value. Raises Invalid if there are too many."""
        self._expanded += length
        self._arguments.expanded += length
        for expanded, most, where in (
            (self._expanded, MAX_WORD_CHARACTERS, "one word"),
            (self._arguments.expanded, MAX_EXPANDED_CHARACTERS, "the file"),
        ):
            if expanded > most:
                raise self._line.error(
                    at,
                    f"expected values of at most {most:,} characters in {where}, {name} exceeds it",
                )
