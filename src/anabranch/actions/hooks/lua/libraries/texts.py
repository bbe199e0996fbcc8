"""`strings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.actions.hooks.contract import HookContext

__all__ = ["strings"]


def strings(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `strings`, whose functions are those of Go."""

    def split(text: str, separator: str) -> list[str]:
        return text.split(separator) if separator else list(text)

    def trim(text: str) -> str:
        return text.strip()

    def replace(text: str, old: str, new: str, n: int) -> str:
        return text.replace(old, new, n)

    def has_prefix(text: str, prefix: str) -> bool:
        return text.startswith(prefix)

    def has_suffix(text: str, suffix: str) -> bool:
        return text.endswith(suffix)

    def contains(text: str, part: str) -> bool:
        return part in text

    return {
        "split": split,
        "trim": trim,
        "replace": replace,
        "has_prefix": has_prefix,
        "has_suffix": has_suffix,
        "contains": contains,
    }
