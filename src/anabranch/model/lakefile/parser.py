"""The Lakefile parser: any bytes parse, or raise an error that shows the position and the cause.

    Lakefile:3:6: expected a whole reference as the base, found 'lakefs://sea/main/raw/'
      FROM lakefs://sea/main/raw/
           ^

docs/lakefile.md specifies the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from anabranch.errors import Invalid
from anabranch.model.lakefile.addresses import parse_base, parse_destination, parse_source
from anabranch.model.lakefile.instructions import MAX_INSTRUCTIONS, Add, Arg, From, Lakefile
from anabranch.model.lakefile.lines import Line, split_lines
from anabranch.model.lakefile.words import Arguments, Word, split_words
from anabranch.patterns.glob import glob

__all__ = ["RESERVED_LABELS", "parse_lakefile"]

RESERVED_LABELS = (".anabranch.", ".lakefs.")
"""Reserved prefixes of labels: such keys of a commit's metadata are for the system's use."""

_KEYWORD = re.compile(r"[ \t]*([^ \t]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_EXCLUDE = "--exclude="

T = TypeVar("T")


class _Instruction(NamedTuple):
    """A line that begins with a keyword, at the offset `at`, and the words after it."""

    line: Line
    at: int
    words: list[Word]

    def error(self, word: Word | None, reason: str, hint: str = "") -> Invalid:
        """Returns the error for a word, or for a missing word at the end (None)."""
        offset = len(self.line.text.rstrip(" \t")) if word is None else word.offset
        return self.line.error(offset, reason, hint)

    def read(self, word: Word, function: Callable[[str], T]) -> T:
        """Returns the result of a function for a word; adds the word's position to its error."""
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
    """Parses a Lakefile and substitutes the values of build arguments; `file` is its name in
    errors.

    Raises Invalid, of kind invalid_lakefile, with the position; of kind unknown_argument for a
    value of an argument that the Lakefile does not declare.
    """
    parser = _Parser(arguments)
    for number, line in enumerate(split_lines(data, file), 1):
        if number > MAX_INSTRUCTIONS:
            raise line.error(0, f"expected at most {MAX_INSTRUCTIONS:,} instructions")
        parser.take(line)
    unknown = sorted(arguments.keys() - parser.values.keys())
    if unknown:
        raise Invalid(
            f"{file}: no ARG {unknown[0]} for the build argument of this name",
            kind="unknown_argument",
            hint="Declare each build argument that has a value, or leave the value out.",
        )
    return parser.lakefile()


class _Parser:
    """The state of the parser: the instructions read so far."""

    def __init__(self, argument_values: Mapping[str, str]) -> None:
        self._argument_values = argument_values
        self._arguments = Arguments()
        self.values = self._arguments.values
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
        """Parses one instruction."""
        keyword = _KEYWORD.match(line.text)
        if keyword is None:
            return
        read = self._keywords.get(keyword[1].upper())
        if read is None:
            reason = f"expected FROM, ADD, LABEL or ARG, found {keyword[1][:80]!r}"
            raise line.error(keyword.start(1), reason)
        words = list(split_words(line, keyword.end(), self._arguments))
        read(_Instruction(line, keyword.start(1), words))

    def _arg(self, instruction: _Instruction) -> None:
        (word,) = _require_words(instruction, ["a name, as in ARG DATE or ARG DATE=2024-01-01"])
        name, equals, value = word.text.partition("=")
        if not _NAME.fullmatch(name):
            raise instruction.error(
                word, f"expected a name of letters, digits and underscores, found {name[:80]!r}"
            )
        if name in self.values:
            raise instruction.error(word, f"expected another name: {name} is declared already")
        if name in self._argument_values:
            value = self._argument_values[name]
        elif not equals:
            raise instruction.error(
                word,
                f"expected a value for the build argument {name}",
                f"Set it with --arg {name}=…, or declare a default: ARG {name}=…",
            )
        self.values[name] = _text(instruction, word, value)

    def _from(self, instruction: _Instruction) -> None:
        if self._base is not None:
            raise instruction.line.error(instruction.at, "expected only one FROM")
        if self._layers or self._labels:
            raise instruction.line.error(instruction.at, "expected FROM before every ADD and LABEL")
        (word,) = _require_words(instruction, ["a reference, an image or scratch"])
        self._base = From(source=instruction.read(word, parse_base), line=instruction.line.number)

    def _add(self, instruction: _Instruction) -> None:
        patterns: list[str] = []
        rest = list(instruction.words)
        while rest and rest[0].text.startswith("--"):
            word = rest.pop(0)
            patterns.append(instruction.read(word, _pattern))
        source, destination = _require_words(
            instruction._replace(words=rest), ["an address to add", "a path in the image"]
        )
        address = instruction.read(source, parse_source)
        self._layers.append(
            Add(
                source=address,
                destination=instruction.read(
                    destination, lambda text: parse_destination(text, address)
                ),
                exclude=tuple(patterns),
                line=instruction.line.number,
            )
        )
        if patterns and not self._layers[-1].is_prefix:
            raise instruction.error(source, "expected a folder's address, as it has --exclude")

    def _label(self, instruction: _Instruction) -> None:
        if not instruction.words:
            raise instruction.error(None, "expected key=value")
        for word in instruction.words:
            key, equals, value = word.text.partition("=")
            if not equals or not key:
                raise instruction.error(word, f"expected key=value, found {word.text[:80]!r}")
            if key.startswith(RESERVED_LABELS):
                raise instruction.error(
                    word, f"expected a key that begins with none of {_reserved_labels()}"
                )
            self._labels.pop(key, None)  # the later label determines the position
            self._labels[key] = value


def _require_words(instruction: _Instruction, expected: Iterable[str]) -> list[Word]:
    """Returns the words of an instruction. Raises Invalid unless there is one for each of
    `expected`.
    """
    descriptions = list(expected)
    if len(instruction.words) < len(descriptions):
        raise instruction.error(None, f"expected {descriptions[len(instruction.words)]}")
    if len(instruction.words) > len(descriptions):
        extra = instruction.words[len(descriptions)]
        raise instruction.error(
            extra,
            f"expected the end of the instruction, found {extra.text[:80]!r}",
            "Quote words that contain blanks, and write comments on separate lines.",
        )
    return instruction.words


def _pattern(text: str) -> str:
    if not text.startswith(_EXCLUDE):
        raise Invalid(f"expected --exclude=PATTERN, found {text[:80]!r}")
    pattern = text.removeprefix(_EXCLUDE)
    glob(pattern)
    return pattern


def _text(instruction: _Instruction, word: Word, value: str) -> str:
    """Returns the value of a build argument. Raises Invalid for line breaks and other characters
    that a Lakefile cannot contain.
    """
    if any(char < " " and char != "\t" for char in value) or not _is_unicode(value):
        raise instruction.error(word, "expected a value on one line, without control characters")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x7f" not in text


def _reserved_labels() -> str:
    return ", ".join(RESERVED_LABELS)
