"""Whether another's clock agrees with ours: signatures and logins are good for a time only."""

from __future__ import annotations

from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["compare_clocks"]

ABOUT = "clock"
_DOUBTFUL_SECONDS = 5.0
_WRONG_SECONDS = 60.0


def compare_clocks(whose: str, theirs: float, before: float, after: float) -> CheckResult:
    """Returns what to think of a clock that was asked between two moments of ours, in seconds;
    however long the answer took, nothing is held against the clock that may be due to that.
    """
    ahead = theirs - after if theirs > after else min(0.0, theirs - before)
    off = abs(ahead)
    if off <= _DOUBTFUL_SECONDS:
        return CheckResult(ABOUT, State.SOUND, f"the clock of {whose} agrees with this machine's")
    way = "ahead of" if ahead > 0 else "behind"
    message = f"the clock of {whose} is {off:,.0f} s {way} this machine's"
    state = State.DOUBTFUL if off <= _WRONG_SECONDS else State.WRONG
    return CheckResult(
        ABOUT, state, message, "Let all machines take the time from the same server."
    )
