"""Preflights: operations that only tell whether the caller may do something."""

from __future__ import annotations

from typing import Any

from anabranch.rest.call import Call

__all__ = ["permitted"]


def permitted(_: Call[Any, None]) -> None:
    """Tells that the caller may: that was asked before this is called."""
