"""`path` and `net/url`."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from anabranch.actions.hooks.contract import HookContext

__all__ = ["path", "url"]

_SEPARATOR = "/"
_HIDDEN = "_"


def path(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `path`."""

    def parse(text: str, separator: str = _SEPARATOR) -> Mapping[str, str]:
        return _parse(text, separator)

    def join(separator: str, *parts: str) -> str:
        joined = ""
        for number, part in enumerate(parts):
            joined += part.removeprefix(separator) if number else part
            if number < len(parts) - 1 and not part.endswith(separator):
                joined += separator
        return joined

    def is_hidden(text: str, separator: str = _SEPARATOR, prefix: str = _HIDDEN) -> bool:
        while text:
            parts = _parse(text, separator)
            if parts["base_name"].startswith(prefix):
                return True
            text = parts["parent"]
        return False

    def default_separator() -> str:
        return _SEPARATOR

    def extract_dir_name(text: str) -> str:
        return posixpath.normpath(posixpath.dirname(text) or ".")

    return {
        "parse": parse,
        "join": join,
        "is_hidden": is_hidden,
        "default_separator": default_separator,
        "extract_dir_name": extract_dir_name,
    }


def url(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `net/url`."""

    def parse(text: str) -> Mapping[str, str]:
        parts = urlsplit(text)
        return {
            "scheme": parts.scheme,
            "host": parts.netloc.rpartition("@")[2],
            "path": unquote(parts.path),
            "query": parts.query,
            "fragment": unquote(parts.fragment),
        }

    def query_escape(text: str) -> str:
        return quote(text, safe="").replace("%20", "+")

    def query_unescape(text: str) -> str:
        return unquote_plus(text, errors="surrogateescape")

    def build_url(scheme: str, host: str, path: str) -> str:
        separator = "" if path.startswith("/") or not path else "/"
        return f"{scheme}://{host}{separator}{quote(path, safe='/$&+,:;=@~-._!*()')}"

    return {
        "parse": parse,
        "query_escape": query_escape,
        "query_unescape": query_unescape,
        "build_url": build_url,
    }


def _parse(text: str, separator: str) -> dict[str, str]:
    parent, found, name = text.removesuffix(separator).rpartition(separator)
    return {"parent": parent + found, "base_name": name}
