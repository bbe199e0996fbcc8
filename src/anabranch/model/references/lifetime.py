"""How long something lives, as people write it: `30m`, `12h`, `7d`."""

from __future__ import annotations

import re

from anabranch.errors import Invalid

__all__ = ["MAX_LIFETIME_SECONDS", "NEVER", "parse_lifetime"]

MAX_LIFETIME_SECONDS = 3650 * 86_400
NEVER = "never"
"""What people write for something that has no end."""

_LIFETIME = re.compile(r"([0-9]{1,9})([smhdw])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def parse_lifetime(text: str) -> int:
    """Returns the seconds of a text such as `7d`. Raises Invalid for another text, for none at all
    and for more than ten years.
    """
    match = _LIFETIME.fullmatch(text)
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < seconds <= MAX_LIFETIME_SECONDS:
        raise Invalid(
            f"{text[:40]!r} is no time that something lives",
            kind="invalid_lifetime",
            hint="Write a number and s, m, h, d or w, such as 12h or 7d; at most ten years.",
        )
    return seconds
