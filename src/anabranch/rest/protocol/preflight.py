"""Preflights: operations that only check a permission."""

from __future__ import annotations

from typing import Any

from anabranch.rest.protocol.call import Call

__all__ = ["check_permission"]


def check_permission(_: Call[Any, None]) -> None:
    """Does nothing: the permission was checked before the call."""
