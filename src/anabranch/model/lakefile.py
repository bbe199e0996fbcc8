"""A Lakefile: the inputs of a job, declared once, from which an image is built.

    FROM lakefs://repo1/tag1
    ADD lakefs://repo2/main/raw/ raw/
    LABEL author=jane

Here is what a Lakefile means once it has been read, with every `${NAME}` replaced by its value.
`lakefile_parser` reads one, docs/lakefile.md has the grammar, and `str()` writes one that reads as
the same again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from anabranch.model.uri import LakeUri

__all__ = ["MAX_BYTES", "MAX_INSTRUCTIONS", "Add", "Arg", "From", "Lakefile", "Source"]

MAX_BYTES = 1 << 20
MAX_INSTRUCTIONS = 10_000

Source: TypeAlias = LakeUri | str
"""What is added: a place in a repository, or the address of objects in a store."""


class From(msgspec.Struct, frozen=True, kw_only=True):
    """The base layer: everything at a reference; nothing at all (`scratch`) without a source.
    `line` is the instruction's, 0 where a Lakefile has none.
    """

    source: LakeUri | None = None
    line: int = 0


class Add(msgspec.Struct, frozen=True, kw_only=True):
    """A layer: one object, or all that begins with a prefix, but for what a pattern excludes.

    The destination of an object is its path; that of a prefix is empty, or ends with a slash.
    """

    source: Source
    destination: str
    exclude: tuple[str, ...] = ()
    line: int = 0

    @property
    def is_prefix(self) -> bool:
        """Whether the source is all that begins with an address, not one object."""
        if isinstance(self.source, str):
            return self.source.endswith("/")
        return not self.source.key or self.source.key.endswith("/")


class Arg(msgspec.Struct, frozen=True):
    """A build argument and the value that it had."""

    name: str
    value: str


class Lakefile(msgspec.Struct, frozen=True, kw_only=True):
    """A base, layers over it in order, and labels; `arguments` as they are declared."""

    base: From = From()
    layers: tuple[Add, ...] = ()
    labels: dict[str, str] = {}
    arguments: tuple[Arg, ...] = ()

    def __str__(self) -> str:
        return "".join(f"{instruction}\n" for instruction in self._instructions())

    def _instructions(self) -> Iterator[str]:
        for argument in self.arguments:
            yield f"ARG {_quoted(f'{argument.name}={argument.value}')}"
        base = self.base.source
        yield "FROM scratch" if base is None else f"FROM {_quoted(str(base))}"
        for layer in self.layers:
            patterns = [f"--exclude={_quoted(pattern)}" for pattern in layer.exclude]
            places = [_quoted(str(layer.source)), _quoted(layer.destination or "/")]
            yield " ".join(["ADD", *patterns, *places])
        for key, value in self.labels.items():
            yield f"LABEL {_quoted(f'{key}={value}')}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'
