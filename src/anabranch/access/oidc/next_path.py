"""The page to which a browser returns after a login: a path of this server, never another site.

Browsers take paths that begin with two slashes, or with a backslash for either, for addresses of
other sites, and ignore tabs and newlines in them; programs between may decode a path once more. So
a path with any of these, after any number of decodings, is refused.
"""

from __future__ import annotations

from urllib.parse import unquote

from anabranch.errors import Invalid

__all__ = ["HOME", "check_next_path"]

HOME = "/"
_MAX_LENGTH = 1500  # the cookie that holds it has at most 4 KiB
_MAX_DECODINGS = 5


def check_next_path(text: str) -> str:
    """Returns the path, that of the home page for an empty text; raises Invalid for a text that is
    no path of this server.
    """
    if not text:
        return HOME
    if len(text) > _MAX_LENGTH or not text.startswith("/"):
        raise _invalid()
    if not text.isascii() or not text.isprintable() or " " in text or '"' in text:
        raise _invalid()
    path = text.partition("?")[0].partition("#")[0]
    if "\\" in text:
        raise _invalid()
    for _ in range(_MAX_DECODINGS):
        if _leaves(path):
            raise _invalid()
        decoded = unquote(path)
        if decoded == path:
            return text
        path = decoded
    raise _invalid()


def _leaves(path: str) -> bool:
    segments = path.split("/")
    controls = any(ord(character) < ord(" ") for character in path)
    return "\\" in path or controls or "" in segments[1:-1] or not {".", ".."}.isdisjoint(segments)


def _invalid() -> Invalid:
    return Invalid(
        "the page to return to after the login is no path of this server",
        kind="invalid_next_path",
        hint="`next` must be a path that begins with one slash, such as /repositories.",
    )
