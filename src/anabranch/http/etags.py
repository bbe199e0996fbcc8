"""Entity tags (RFC 9110, section 8.8.3): their quotes, and how they are compared."""

from __future__ import annotations

from anabranch.http.header_values import header_safe

__all__ = ["lists_etag", "quote_etag", "same_etag", "unquote_etag"]


def quote_etag(checksum: str) -> str:
    """Returns the ETag of an object with a checksum: the checksum in quotes.

    A checksum that begins with a quote, as clients may store it, is returned as it is, but for
    characters that a header must not contain.
    """
    checksum = header_safe(checksum)
    return checksum if checksum.startswith('"') else f'"{checksum}"'


def unquote_etag(etag: str) -> str:
    """Returns an ETag without its quotes and without the mark of a weak one, `W/`."""
    return etag.strip().removeprefix("W/").strip('"')


def same_etag(header: str, checksum: str) -> bool:
    """Returns whether the one ETag in `header` names an object with a checksum, as writes demand:
    `*` names every object, a weak ETag none. Quotes may be missing.
    """
    wanted = header.strip()
    return wanted == "*" or wanted.strip('"') == quote_etag(checksum).strip('"')


def lists_etag(header: str, checksum: str) -> bool:
    """Returns whether one of the comma-separated ETags in `header` names an object with a checksum,
    as reads ask: `*` names every object, a weak ETag is compared like any other. Quotes may be
    missing.
    """
    etag = quote_etag(checksum).strip('"')
    return any(unquote_etag(tag) in {"*", etag} for tag in header.split(","))
