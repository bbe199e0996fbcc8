"""The problems that a check finds: all are written to the output, the first are the reason."""

from __future__ import annotations

from anabranch.actions.hooks.output import HookOutput
from anabranch.errors import HookFailed

__all__ = ["MAX_PROBLEMS", "Problems", "TooManyProblems"]

MAX_PROBLEMS = 100
_NAMED = 3


class TooManyProblems(Exception):
    """A check has found so many problems that it need not look further."""


class Problems:
    """Collects problems, sentences without a full stop that name the file and what to do."""

    def __init__(self, output: HookOutput) -> None:
        self._output = output
        self._found: list[str] = []

    def add(self, problem: str) -> None:
        """Adds a problem. Raises TooManyProblems."""
        self._found.append(problem)
        self._output.write(f"{problem}\n")
        if len(self._found) >= MAX_PROBLEMS:
            self._output.write(f"there may be more than these {MAX_PROBLEMS} problems\n")
            raise TooManyProblems

    def fail_if_any(self) -> None:
        """Raises HookFailed if there is a problem."""
        if not self._found:
            return
        more = len(self._found) - _NAMED
        end = f"; and {more} more in the output of the hook" if more > 0 else ""
        raise HookFailed(
            "; ".join(self._found[:_NAMED]) + end,
            hint="Correct the files on the source, and try again.",
        )
