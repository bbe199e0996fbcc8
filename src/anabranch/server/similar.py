"""The nearest right name to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["similar"]


def similar(wrong: str, right: Iterable[str], prefix: str = "") -> str:
    """Returns `; did you mean …?` with the nearest name, or an empty text if none is near.

    A `prefix` stands before all names and makes none of them nearer. A name whose last part is
    the wrong one's counts as near: `access_key_id` is near `installation.access_key_id`.
    """
    names = {name.removeprefix(prefix).lower(): name for name in right}
    wrong = wrong.removeprefix(prefix).lower()
    ends = [name for name in names if name.endswith((f".{wrong}", f"_{wrong}"))]
    near = ends if len(ends) == 1 else difflib.get_close_matches(wrong, names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else ""
