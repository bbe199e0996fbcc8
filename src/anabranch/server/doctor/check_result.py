"""What a check has found: what it is about, how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import msgspec

from anabranch.errors import AnabranchError

__all__ = ["CheckResult", "State", "collected"]


class State(StrEnum):
    """How something is. What is doubtful works now, and may not always."""

    SOUND = "sound"
    DOUBTFUL = "doubtful"
    WRONG = "wrong"


class CheckResult(msgspec.Struct, frozen=True):
    """One thing that was found; `hint` is what to do, empty where there is nothing to do."""

    about: str
    state: State
    message: str
    hint: str = ""


@contextmanager
def collected(about: str, findings: list[CheckResult], doing: str = "") -> Iterator[None]:
    """Turns an error of ours into a finding that something is wrong; `doing` says at what."""
    try:
        yield
    except AnabranchError as error:
        message = f"{doing}: {error.message}" if doing else error.message
        findings.append(CheckResult(about, State.WRONG, message, error.hint or ""))
