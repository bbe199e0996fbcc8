"""Refusals of stores and servers in tasks, which the driver raises as the same errors.

Spark tells the driver only the traceback of a failed task, within its own. A store that refuses
the credentials refuses every attempt of every task, and the user has to know which store, why, and
what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.errors import AnabranchError, StoreRefused, Unauthenticated

__all__ = ["note_hints", "note_refusals", "raise_refusals"]

_REFUSED = {error.__name__: error for error in (StoreRefused, Unauthenticated)}
_NOTE = "Refused"
_TRACEBACK = re.compile(
    rf"^\s*anabranch\.errors\.(?P<name>{'|'.join(_REFUSED)}): (?P<message>.*)\n"
    rf"\s*{_NOTE} \((?P<kind>\w+)\): (?P<hint>.*)$",
    re.MULTILINE,
)


@contextmanager
def note_refusals() -> Iterator[None]:
    """Adds the kind and the hint of a refusal to its traceback, in a task."""
    try:
        yield
    except tuple(_REFUSED.values()) as error:
        note = f"{_NOTE} ({error.kind}): {error.hint}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise


@contextmanager
def note_hints() -> Iterator[None]:
    """Adds the hint of an error to its traceback, in a process that Spark has started for a data
    source. Spark shows the user that traceback alone.
    """
    try:
        yield
    except AnabranchError as error:
        notes = getattr(error, "__notes__", ())
        if error.hint and not any(error.hint in note for note in notes):
            error.add_note(f"Hint: {error.hint}")
        raise


@contextmanager
def raise_refusals() -> Iterator[None]:
    """Raises StoreRefused or Unauthenticated in place of Spark's error if a task has failed with
    it.
    """
    try:
        yield
    except AnabranchError:
        raise
    except Exception as error:
        # the errors of PySpark, of py4j and of Spark Connect have no class in common
        refusal = _TRACEBACK.search(str(error))
        if refusal is None:
            raise
        message, kind, hint = (refusal[name].rstrip() for name in ("message", "kind", "hint"))
        raise _REFUSED[refusal["name"]](message, kind=kind, hint=hint) from error
