"""The result of a check: its subject, the state of the subject, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import msgspec

from anabranch.errors import AnabranchError

__all__ = ["CheckResult", "State", "collected"]


class State(StrEnum):
    """The state of a subject. Doubtful means that it works now, but may fail later."""

    SOUND = "sound"
    DOUBTFUL = "doubtful"
    WRONG = "wrong"


class CheckResult(msgspec.Struct, frozen=True):
    """One result of a check; `hint` says what to do, "" for nothing."""

    about: str
    state: State
    message: str
    hint: str = ""


@contextmanager
def collected(about: str, findings: list[CheckResult], doing: str = "") -> Iterator[None]:
    """Adds an error as a result with the state WRONG; `doing` names the failed step."""
    try:
        yield
    except AnabranchError as error:
        message = f"{doing}: {error.message}" if doing else error.message
        findings.append(CheckResult(about, State.WRONG, message, error.hint or ""))
