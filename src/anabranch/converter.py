"""Conversion of builtin values to typed ones, prepared at import.

msgspec reads the fields of a type when it is first used, without a lock: two threads that use a new
type at once can end the process with SIGSEGV. So each decoder, and each `Converter`, is made while
its module is imported; `make check` refuses other uses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

import msgspec

__all__ = ["Converter"]

T_co = TypeVar("T_co", covariant=True)


class Converter(Generic[T_co]):
    """Converts builtin values to a type. Unless `strict`, numbers and booleans may be text."""

    def __init__(self, type_: type[T_co], *, strict: bool = True) -> None:
        msgspec.json.Decoder(type_)  # reads the type's fields now
        self._convert: Callable[[object], T_co] = partial(
            msgspec.convert, type=type_, strict=strict
        )

    def convert(self, value: object) -> T_co:
        """Returns a value of the type. Raises msgspec.ValidationError."""
        return self._convert(value)
