"""Times in Go's layouts, which write the moment 2006-01-02 15:04:05.000 MST (-07:00) as an example
(https://pkg.go.dev/time#pkg-constants).
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta, timezone

__all__ = ["format_time", "parse_time"]

_MONTHS = list(calendar.month_name)[1:]
_DAYS = list(calendar.day_name)
_TOKENS = re.compile(
    r"January|Jan|Monday|Mon|MST|2006|Z07:00|Z0700|Z07|-07:00|-0700|-07|[.,]0+(?!\d)|[.,]9+(?!\d)|"
    r"01|02|03|04|05|06|002|15|PM|pm|__2|_2|1|2|3|4|5"
)
_ZONE = r"[+-]\d\d:?\d\d|[+-]\d\d"
_PATTERNS = {
    "January": "|".join(_MONTHS),
    "Jan": "|".join(month[:3] for month in _MONTHS),
    "Monday": "|".join(_DAYS),
    "Mon": "|".join(day[:3] for day in _DAYS),
    "MST": "[A-Z]{3,5}",
    "2006": r"\d{4}",
    "002": r"\d{3}",
    "__2": r" {0,2}\d{1,3}",
    "PM": "AM|PM",
    "pm": "am|pm",
    "_2": r" ?\d{1,2}",
}
_MONTH, _DAY, _HOUR = ("01", "1"), ("02", "2", "_2"), ("15", "03", "3")


def format_time(moment: datetime, layout: str) -> str:
    """Returns a moment, which has a zone, as the layout writes it."""
    return _TOKENS.sub(lambda match: _write(moment, match[0]), layout)


def parse_time(layout: str, text: str) -> datetime:
    """Returns the moment that a text means, in UTC if the layout has no zone. Raises ValueError."""
    pattern, tokens, at = "", [], 0
    for match in _TOKENS.finditer(layout):
        pattern += re.escape(layout[at : match.start()]) + f"({_pattern(match[0])})"
        tokens.append(match[0])
        at = match.end()
    found = re.fullmatch(pattern + re.escape(layout[at:]), text)
    if found is None:
        raise ValueError(f'parsing time "{text}" as "{layout}": it does not fit')
    return _moment(dict(zip(tokens, found.groups(), strict=True)))


def _pattern(token: str) -> str:
    if token in _PATTERNS:
        return _PATTERNS[token]
    if token[0] in ".,":
        return r"[.,]\d+" if token[1] == "0" else r"(?:[.,]\d+)?"
    if "07" in token:
        return f"Z|{_ZONE}" if token.startswith("Z") else _ZONE
    return r"\d{2}" if len(token) == 2 else r"\d{1,2}"  # noqa: PLR2004


def _moment(fields: dict[str, str]) -> datetime:
    def number(*tokens: str, default: int) -> int:
        return next((int(fields[token]) for token in tokens if token in fields), default)

    month = number(*_MONTH, default=1)
    for token, length in (("January", None), ("Jan", 3)):
        if token in fields:
            month = [name[:length] for name in _MONTHS].index(fields[token]) + 1
    year = number("2006", default=1970)
    if "06" in fields:
        year = 2000 + int(fields["06"]) if int(fields["06"]) < 69 else 1900 + int(fields["06"])  # noqa: PLR2004
    hour = number(*_HOUR, default=0)
    half = fields.get("PM", fields.get("pm", "")).upper()
    if half:
        hour = hour % 12 + (12 if half == "PM" else 0)
    fraction = next((text for token, text in fields.items() if token[0] in ".,"), "")
    zone = next((text for token, text in fields.items() if "07" in token), "")
    moment = datetime(
        year,
        month,
        number(*_DAY, default=1),
        hour,
        number("04", "4", default=0),
        number("05", "5", default=0),
        int(fraction[1:7].ljust(6, "0") if fraction else 0),
        _zone(zone),
    )
    day_of_year = number("002", "__2", default=0)
    return moment + timedelta(days=day_of_year - 1) if day_of_year else moment


def _zone(text: str) -> timezone:
    if text in ("", "Z"):
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _write(moment: datetime, token: str) -> str:
    if token[0] in ".,":
        digits = f"{moment.microsecond:06}".ljust(9, "0")[: len(token) - 1]
        digits = digits.rstrip("0") if token[1] == "9" else digits
        return token[0] + digits if digits else ""
    if "07" in token:
        return _written_zone(moment, token)
    hour = moment.hour % 12 or 12
    values = {
        "January": _MONTHS[moment.month - 1],
        "Jan": _MONTHS[moment.month - 1][:3],
        "Monday": _DAYS[moment.weekday()],
        "Mon": _DAYS[moment.weekday()][:3],
        "MST": _zone_name(moment),
        "2006": f"{moment.year:04}",
        "06": f"{moment.year % 100:02}",
        "002": f"{moment.timetuple().tm_yday:03}",
        "__2": f"{moment.timetuple().tm_yday:3}",
        "15": f"{moment.hour:02}",
        "PM": "PM" if moment.hour >= 12 else "AM",  # noqa: PLR2004
        "pm": "pm" if moment.hour >= 12 else "am",  # noqa: PLR2004
        "_2": f"{moment.day:2}",
    }
    if token in values:
        return values[token]
    number = {"1": moment.month, "2": moment.day, "3": hour, "4": moment.minute, "5": moment.second}
    return f"{number[token[-1]]:0{len(token)}}"


def _written_zone(moment: datetime, token: str) -> str:
    offset = moment.utcoffset() or timedelta()
    if token.startswith("Z") and not offset:
        return "Z"
    minutes = int(offset.total_seconds()) // 60
    sign, minutes = ("-" if minutes < 0 else "+"), abs(minutes)
    separator = ":" if ":" in token else ""
    rest = "" if token.endswith("07") else f"{separator}{minutes % 60:02}"
    return f"{sign}{minutes // 60:02}{rest}"


def _zone_name(moment: datetime) -> str:
    """Returns the abbreviation of a zone, or its offset if it has none."""
    name = moment.tzname() or ""
    return name if name.isalpha() else _written_zone(moment, "-0700")
