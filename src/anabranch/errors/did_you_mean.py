"""Suggestions of the known words nearest to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["closest", "closest_setting"]


def closest(word: str, known: Sequence[str]) -> str:
    """Returns a sentence naming the known words nearest to `word`, empty when none is near."""
    near = _matches(word, known, 3)
    return f"Did you mean {' or '.join(near)}?" if near else ""


def closest_setting(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Returns `; did you mean …?` with the setting nearest to `name`, or an empty text if none is.

    `prefix` begins every name and is not compared. A setting whose last part is `name` is near:
    `access_key_id` is near `installation.access_key_id`.
    """
    names = {setting.removeprefix(prefix).lower(): setting for setting in known}
    name = name.removeprefix(prefix).lower()
    ends = [setting for setting in names if setting.endswith((f".{name}", f"_{name}"))]
    near = ends if len(ends) == 1 else _matches(name, names, 1)
    return f"; did you mean {names[near[0]]}?" if near else ""


def _matches(word: str, known: Iterable[str], amount: int) -> list[str]:
    import difflib  # noqa: PLC0415  only a mistake pays for it

    return difflib.get_close_matches(word, list(known), n=amount, cutoff=0.6)
