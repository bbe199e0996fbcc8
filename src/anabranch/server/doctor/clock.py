"""Comparison of another machine's clock with this one's: signatures and logins expire."""

from __future__ import annotations

from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["compare_clocks"]

ABOUT = "clock"
_DOUBTFUL_SECONDS = 5.0
_WRONG_SECONDS = 60.0


def compare_clocks(owner: str, theirs: float, before: float, after: float) -> CheckResult:
    """Returns the result for a clock that showed `theirs` when this machine's was between `before`
    and `after`, in seconds. The difference is the least that is possible, so a slow response does
    not count as a wrong clock.
    """
    ahead = theirs - after if theirs > after else min(0.0, theirs - before)
    difference = abs(ahead)
    if difference <= _DOUBTFUL_SECONDS:
        return CheckResult(ABOUT, State.SOUND, f"the clock of {owner} agrees with this machine's")
    direction = "ahead of" if ahead > 0 else "behind"
    message = f"the clock of {owner} is {difference:,.0f} s {direction} this machine's"
    state = State.DOUBTFUL if difference <= _WRONG_SECONDS else State.WRONG
    return CheckResult(ABOUT, state, message, "Synchronize the clocks of all machines with NTP.")
