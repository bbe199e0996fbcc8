"""The result of a check: its subject, the state of the subject, and a hint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import msgspec

from anabranch.errors import AnabranchError

__all__ = ["CheckResult", "State", "errors_collected"]


class State(StrEnum):
    """The state of a subject. DOUBTFUL means that it works now but may fail later."""

    SOUND = "sound"
    DOUBTFUL = "doubtful"
    WRONG = "wrong"


class CheckResult(msgspec.Struct, frozen=True):
    """One result of a check. `hint` says what to do; it is empty if nothing needs to be done."""

    about: str
    state: State
    message: str
    hint: str = ""


@contextmanager
def errors_collected(about: str, results: list[CheckResult], step: str = "") -> Iterator[None]:
    """Adds an error as a result with the state WRONG; `step` names the failed step."""
    try:
        yield
    except AnabranchError as error:
        message = f"{step}: {error.message}" if step else error.message
        results.append(CheckResult(about, State.WRONG, message, error.hint or ""))
