"""Lakefiles: the declared inputs of a job, from which an image is built.

    FROM lakefs://repo1/tag1
    ADD lakefs://repo2/main/raw/ raw/
    LABEL author=jane

These structures hold a parsed Lakefile, in which each `${NAME}` is replaced by its value. `parser`
reads one, docs/lakefile.md has the grammar, and `str()` writes one that parses to an equal
structure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from anabranch.model.names import is_prefix
from anabranch.model.uri import LakeUri

__all__ = [
    "MAX_BYTES",
    "MAX_EXPANDED_CHARACTERS",
    "MAX_INSTRUCTIONS",
    "MAX_WORD_CHARACTERS",
    "Add",
    "Arg",
    "From",
    "Lakefile",
    "Source",
]

MAX_BYTES = 1 << 20
MAX_INSTRUCTIONS = 10_000
MAX_WORD_CHARACTERS = 1 << 16
"""The most characters that the values of arguments may take in one word."""
MAX_EXPANDED_CHARACTERS = 1 << 20
"""The most characters that they may take in the whole file."""

Source: TypeAlias = LakeUri | str
"""The source of a layer: an address in a repository, or the address of objects in a store."""


class From(msgspec.Struct, frozen=True, kw_only=True):
    """The base layer: all objects at a reference, or none (`scratch`) without a source. `line` is
    the line of the instruction, 0 for a Lakefile without one.
    """

    source: LakeUri | None = None
    line: int = 0


class Add(msgspec.Struct, frozen=True, kw_only=True):
    """A layer: one object, or all objects with a prefix, except those that a pattern excludes.

    The destination of an object is its path; that of a prefix is empty, or ends with a slash.
    """

    source: Source
    destination: str
    exclude: tuple[str, ...] = ()
    line: int = 0

    @property
    def is_prefix(self) -> bool:
        """Whether the source is a prefix of addresses, not one object."""
        if isinstance(self.source, str):
            return self.source.endswith("/")
        return is_prefix(self.source.key)


class Arg(msgspec.Struct, frozen=True):
    """A build argument and its value."""

    name: str
    value: str


class Lakefile(msgspec.Struct, frozen=True, kw_only=True):
    """A base, the layers over it in order, and labels; `arguments` in the order of declaration."""

    base: From = From()
    layers: tuple[Add, ...] = ()
    labels: dict[str, str] = {}
    arguments: tuple[Arg, ...] = ()

    def __str__(self) -> str:
        return "".join(f"{instruction}\n" for instruction in self._instructions())

    def _instructions(self) -> Iterator[str]:
        for argument in self.arguments:
            yield f"ARG {_quote(f'{argument.name}={argument.value}')}"
        base = self.base.source
        yield "FROM scratch" if base is None else f"FROM {_quote(str(base))}"
        for layer in self.layers:
            patterns = [f"--exclude={_quote(pattern)}" for pattern in layer.exclude]
            places = [_quote(str(layer.source)), _quote(layer.destination or "/")]
            yield " ".join(["ADD", *patterns, *places])
        for key, value in self.labels.items():
            yield f"LABEL {_quote(f'{key}={value}')}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'
