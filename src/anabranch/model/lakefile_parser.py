"""Reading a Lakefile: any bytes give a Lakefile, or an error that shows what is wrong and where.

    Lakefile:3:6: expected a whole reference as the base, found 'lakefs://sea/main/raw/'
      FROM lakefs://sea/main/raw/
           ^

The grammar stands in docs/lakefile.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from anabranch.errors import Invalid
from anabranch.model.glob import glob
from anabranch.model.lakefile import MAX_INSTRUCTIONS, Add, Arg, From, Lakefile
from anabranch.model.lakefile_addresses import base_of, destination_of, source_of
from anabranch.model.lakefile_lines import Line, lines_of
from anabranch.model.lakefile_words import Word, words_of

__all__ = ["RESERVED_LABELS", "parse_lakefile"]

RESERVED_LABELS = (".anabranch.", ".lakefs.")
"""What labels must not begin with: such keys of a commit's metadata are the system's own."""

_KEYWORD = re.compile(r"[ \t]*([^ \t]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_EXCLUDE = "--exclude="

T = TypeVar("T")


class _Instruction(NamedTuple):
    """A line that begins with a keyword; `at` is where that stands."""

    line: Line
    at: int
    words: list[Word]

    def error(self, word: Word | None, reason: str, hint: str = "") -> Invalid:
        """Returns the error about a word, or about a word that is missing at the end."""
        offset = len(self.line.text.rstrip(" \t")) if word is None else word.offset
        return self.line.error(offset, reason, hint)

    def read(self, word: Word, function: Callable[[str], T]) -> T:
        """Returns what a function makes of a word; its error gets the word's place."""
        try:
            return function(word.text)
        except Invalid as error:
            raise self.error(word, error.message, error.hint) from None


def parse_lakefile(
    data: bytes | str,
    arguments: Mapping[str, str] = MappingProxyType({}),
    *,
    file: str = "Lakefile",
) -> Lakefile:
    """Returns the Lakefile that a text is, with the values of build arguments put in; `file` is
    what errors call it.

    Raises Invalid, of kind invalid_lakefile, with the place; of kind unknown_argument for a value
    of an argument that the Lakefile does not declare.
    """
    parser = _Parser(arguments)
    for number, line in enumerate(lines_of(data, file), 1):
        if number > MAX_INSTRUCTIONS:
            raise line.error(0, f"expected at most {MAX_INSTRUCTIONS:,} instructions")
        parser.take(line)
    unknown = sorted(arguments.keys() - parser.values.keys())
    if unknown:
        raise Invalid(
            f"{file}: no ARG {unknown[0]} for the build argument of this name",
            kind="unknown_argument",
            hint="Build arguments that are given must be declared.",
        )
    return parser.lakefile()


class _Parser:
    """What has been read so far."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self.values: dict[str, str] = {}
        self._base: From | None = None
        self._layers: list[Add] = []
        self._labels: dict[str, str] = {}
        self._keywords = {
            "ARG": self._arg,
            "FROM": self._from,
            "ADD": self._add,
            "LABEL": self._label,
        }

    def lakefile(self) -> Lakefile:
        return Lakefile(
            base=self._base or From(),
            layers=tuple(self._layers),
            labels=self._labels,
            arguments=tuple(Arg(name, value) for name, value in self.values.items()),
        )

    def take(self, line: Line) -> None:
        """Reads one instruction."""
        keyword = _KEYWORD.match(line.text)
        if keyword is None:
            return
        read = self._keywords.get(keyword[1].upper())
        if read is None:
            reason = f"expected FROM, ADD, LABEL or ARG, found {keyword[1][:80]!r}"
            raise line.error(keyword.start(1), reason)
        words = list(words_of(line, keyword.end(), self.values))
        read(_Instruction(line, keyword.start(1), words))

    def _arg(self, given: _Instruction) -> None:
        (word,) = _exactly(given, ["a name, as in ARG DATE or ARG DATE=2024-01-01"])
        name, equals, value = word.text.partition("=")
        if not _NAME.fullmatch(name):
            raise given.error(
                word, f"expected a name of letters, digits and underscores, found {name[:80]!r}"
            )
        if name in self.values:
            raise given.error(word, f"expected another name: {name} is declared already")
        if name in self._given:
            value = self._given[name]
        elif not equals:
            raise given.error(
                word,
                f"expected a value for the build argument {name}",
                f"Give one (--arg {name}=…), or declare what it is without one: ARG {name}=…",
            )
        self.values[name] = _text(given, word, value)

    def _from(self, given: _Instruction) -> None:
        if self._base is not None:
            raise given.line.error(given.at, "expected only one FROM")
        if self._layers or self._labels:
            raise given.line.error(given.at, "expected FROM before every ADD and LABEL")
        (word,) = _exactly(given, ["a reference, an image or scratch"])
        self._base = From(source=given.read(word, base_of), line=given.line.number)

    def _add(self, given: _Instruction) -> None:
        patterns: list[str] = []
        rest = list(given.words)
        while rest and rest[0].text.startswith("--"):
            word = rest.pop(0)
            patterns.append(given.read(word, _pattern))
        source, destination = _exactly(
            given._replace(words=rest), ["an address to add", "a path in the image"]
        )
        address = given.read(source, source_of)
        self._layers.append(
            Add(
                source=address,
                destination=given.read(destination, lambda text: destination_of(text, address)),
                exclude=tuple(patterns),
                line=given.line.number,
            )
        )
        if patterns and not self._layers[-1].is_prefix:
            raise given.error(source, "expected a folder's address, as it has --exclude")

    def _label(self, given: _Instruction) -> None:
        if not given.words:
            raise given.error(None, "expected key=value")
        for word in given.words:
            key, equals, value = word.text.partition("=")
            if not equals or not key:
                raise given.error(word, f"expected key=value, found {word.text[:80]!r}")
            if key.startswith(RESERVED_LABELS):
                raise given.error(word, f"expected a key that begins with none of {_reserved()}")
            self._labels.pop(key, None)  # the later one, in its own place
            self._labels[key] = value


def _exactly(given: _Instruction, expected: Iterable[str]) -> list[Word]:
    """Returns the words of an instruction that has one for each of what is expected."""
    wanted = list(expected)
    if len(given.words) < len(wanted):
        raise given.error(None, f"expected {wanted[len(given.words)]}")
    if len(given.words) > len(wanted):
        extra = given.words[len(wanted)]
        raise given.error(
            extra,
            f"expected the end of the instruction, found {extra.text[:80]!r}",
            "Put quotes around what has blanks in it; a comment has a line of its own.",
        )
    return given.words


def _pattern(text: str) -> str:
    if not text.startswith(_EXCLUDE):
        raise Invalid(f"expected --exclude=PATTERN, found {text[:80]!r}")
    pattern = text.removeprefix(_EXCLUDE)
    glob(pattern)
    return pattern


def _text(given: _Instruction, word: Word, value: str) -> str:
    """Returns a value from outside if it is one that a Lakefile could hold."""
    if any(each < " " and each != "\t" for each in value) or not _is_unicode(value):
        raise given.error(word, "expected a value on one line, without control characters")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x7f" not in text


def _reserved() -> str:
    return ", ".join(RESERVED_LABELS)
