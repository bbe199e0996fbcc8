"""Writes XML: elements out of texts, every text escaped on its way in.

Characters that XML 1.0 cannot hold are written as numbers, as S3 does it; clients that mind ask
for `encoding-type=url`. Bytes that are no UTF-8, which only foreign systems store, are shown with
replacement characters.
"""

from __future__ import annotations

import re

__all__ = ["NAMESPACE", "document", "element", "escaped", "leaf"]

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_UNFIT = re.compile(r"[&<>\"\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escaped(text: str) -> str:
    """Returns a text as it stands between tags."""
    if not _UNFIT.search(text):
        return text
    return _UNFIT.sub(_replacement, text)


def leaf(name: str, text: str) -> str:
    """Returns an element that holds a text."""
    return f"<{name}>{escaped(text)}</{name}>"


def element(name: str, *inner: str) -> str:
    """Returns an element that holds elements, which are written already."""
    return f"<{name}>{''.join(inner)}</{name}>"


def document(name: str, *inner: str | bytes, namespace: str = NAMESPACE) -> bytes:
    """Returns a document: its root element, holding what is written already."""
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
