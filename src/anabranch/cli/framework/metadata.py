"""The options for the message and the metadata of a commit or a merge."""

from __future__ import annotations

from typing import Any

from anabranch.cli.errors import Usage
from anabranch.cli.framework.command import Option

__all__ = ["META", "OBJECT_META", "REPLACED_META", "pairs"]


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise Usage(f"{text!r} is not KEY=VALUE", hint="Write it like author=jane")
    return key, value


META = Option("--meta", "A pair for the commit's metadata", "KEY=VALUE", parse=_pair, repeat=True)
OBJECT_META = META._replace(help="A pair for the object's metadata")
REPLACED_META = OBJECT_META._replace(names="--metadata", required=True)


def pairs(given: list[tuple[str, str]]) -> dict[str, Any]:
    """Returns the metadata of the options; raises Usage for a repeated key."""
    metadata = dict(given)
    if len(metadata) < len(given):
        keys = [key for key, _ in given]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Usage(f"{twice} is given twice", hint="Give each key once.")
    return metadata
