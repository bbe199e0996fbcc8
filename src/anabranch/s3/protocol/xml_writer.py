"""XML writer: builds elements from texts and escapes every text.

Characters that XML 1.0 does not allow are written as numeric references, as in S3; clients that
cannot parse them request `encoding-type=url`. Bytes that are not UTF-8, which only other systems
store, are written as replacement characters.
"""

from __future__ import annotations

import re

__all__ = ["NAMESPACE", "document", "element", "escape", "leaf"]

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NEEDS_ESCAPING = re.compile(r"[&<>\"\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escape(text: str) -> str:
    """Returns a text escaped for element content."""
    if not _NEEDS_ESCAPING.search(text):
        return text
    return _NEEDS_ESCAPING.sub(_replacement, text)


def leaf(name: str, text: str) -> str:
    """Returns an element with a text."""
    return f"<{name}>{escape(text)}</{name}>"


def element(name: str, *inner: str) -> str:
    """Returns an element with child elements that are already XML."""
    return f"<{name}>{''.join(inner)}</{name}>"


def document(name: str, *inner: str | bytes, namespace: str = NAMESPACE) -> bytes:
    """Returns a document with a root element around content that is already XML."""
    root = f'{name} xmlns="{namespace}"' if namespace else name
    parts = (f"{_DECLARATION}<{root}>", *inner, f"</{name}>")
    return b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)


def _replacement(match: re.Match[str]) -> str:
    character = match[0]
    if character in _NAMED:
        return _NAMED[character]
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return f"&#x{ord(character):X};"
