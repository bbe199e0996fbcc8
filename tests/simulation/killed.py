"""The end of a server of a simulated world."""

from __future__ import annotations

__all__ = ["Killed"]


class Killed(BaseException):
    """The server was killed. What would clean up behind an error gets this again."""
