"""Parsers of the values of settings: of text, from the environment and flags, or of values that
TOML and YAML have parsed already.

Each parser raises ValueError with a message that follows the setting's name: "is not a whole
number".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from anabranch.errors.did_you_mean import closest_setting
from anabranch.model.secret import Secret
from anabranch.model.uri import is_address
from anabranch.server.config.settings import Address, Seconds
from anabranch.server.config.types import PageUrl, Pairs

__all__ = ["read_value"]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|0", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)", re.ASCII)
_WHOLE = re.compile(r"\d+(?:_\d+)*", re.ASCII)
_TRUTH = {"true": True, "1": True, "yes": True, "on": True}
_FALSEHOOD = {"false": False, "0": False, "no": False, "off": False}
_MAX_PORT = 65535


def read_value(kind: Any, raw: object) -> Any:
    """Returns a value of the setting's type. Raises ValueError, whose message has no secret."""
    if get_origin(kind) is Literal:
        return _choice(get_args(kind), raw)
    return _READERS[kind](raw)


def _choice(choices: tuple[str, ...], raw: object) -> str:
    text = _text(raw)
    for choice in choices:
        if choice.lower() == text.lower():
            return choice
    raise ValueError(
        f"is {text!r}, not one of {', '.join(choices)}{closest_setting(text, choices)}"
    )


def _text(raw: object) -> str:
    if not isinstance(raw, str):  # a number has lost how it was written: 007, 1e3
        raise ValueError("is not a text: put it in quotes")  # noqa: TRY004  one kind of error
    return raw


def _secret(raw: object) -> Secret:
    return Secret(_text(raw))


def _path(raw: object) -> Path:
    text = _text(raw)
    if not text or "\0" in text:
        raise ValueError("is not a path")
    if is_address(text):
        raise ValueError(f"is {text!r}, an address and not a path")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ValueError(f"is {text!r}, but there is no home folder") from None


def _whole(raw: object) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0:
        return raw
    if isinstance(raw, str) and _WHOLE.fullmatch(raw.strip()):
        return int(raw)
    raise ValueError(f"is {raw!r}, not a whole number of 0 or more")


def _truth(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    known = (_TRUTH | _FALSEHOOD).get(str(raw).strip().lower())
    if known is None:
        raise ValueError(f"is {raw!r}, neither true nor false")
    return known


def _seconds(raw: object) -> Seconds:
    text = str(raw).strip()
    if isinstance(raw, bool) or not _DURATION.fullmatch(text):
        raise ValueError(f"is {raw!r}, not a duration such as 20s, 15m or 1h30m")
    return Seconds(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)))


def _page_url(raw: object) -> PageUrl:
    text = _text(raw).strip()
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("https", "http") and bool(parts.hostname)
    except ValueError:
        is_usable = False
    if text and not is_usable:
        raise ValueError(f"is {text!r}, not a URL that begins with https:// or http://")
    return PageUrl(text)


def _list(raw: object) -> tuple[str, ...]:
    if isinstance(raw, list | tuple):
        return tuple(_text(item) for item in raw)
    return tuple(part.strip() for part in _text(raw).split(",") if part.strip())


def _pairs(raw: object) -> Pairs:
    if isinstance(raw, dict):
        return tuple(
            (str(name), _text(value))
            for name, values in raw.items()
            for value in (values if isinstance(values, list) else [values])
        )
    if not isinstance(raw, str):
        raise ValueError("is not a table of names and values")  # noqa: TRY004  as above
    pairs = [part.strip().partition("=") for part in raw.split(",") if part.strip()]
    if not all(name and equals for name, equals, _ in pairs):
        raise ValueError(f"is {raw!r}, not a list such as name=value,other=value")
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def _address(raw: object) -> Address:
    text = _text(raw)
    host, colon, port = text.rpartition(":")
    plain = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    bare_ipv6 = ":" in host and plain == host
    if not colon or bare_ipv6 or not _WHOLE.fullmatch(port) or int(port) > _MAX_PORT:
        raise ValueError(f"is {text!r}, not HOST:PORT")
    return Address(plain, int(port))


_READERS: dict[Any, Callable[[object], Any]] = {
    str: _text,
    Secret: _secret,
    Path: _path,
    int: _whole,
    bool: _truth,
    Seconds: _seconds,
    tuple[str, ...]: _list,
    Address: _address,
    PageUrl: _page_url,
    Pairs: _pairs,
}
