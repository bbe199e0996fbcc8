"""The message and the free key-value pairs that a commit or a merge carries."""

from __future__ import annotations

from typing import Any

from anabranch.cli.command import Option
from anabranch.cli.failure import Usage

__all__ = ["META", "pairs"]


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise Usage(f"{text!r} is no key=value", hint="Write it like --meta author=jane")
    return key, value


META = Option("--meta", "A pair for the commit's metadata", "KEY=VALUE", parse=_pair, repeat=True)


def pairs(given: list[tuple[str, str]]) -> dict[str, Any]:
    """Returns the metadata that the options make; raises Usage for a key given twice."""
    metadata = dict(given)
    if len(metadata) < len(given):
        keys = [key for key, _ in given]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Usage(f"--meta {twice} is given twice", hint="Give each key once.")
    return metadata
