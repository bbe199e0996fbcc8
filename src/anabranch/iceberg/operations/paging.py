"""Pages of names: `pageSize` and `pageToken`."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import islice

from anabranch.errors import Invalid
from anabranch.iceberg.call import Call

__all__ = ["read_page"]

_MAX_DIGITS = 9


def read_page(call: Call, names: Callable[[str], Iterator[str]]) -> tuple[list[str], str | None]:
    """Returns the names of a page, and the token of the next, None on the last; all names without
    `pageSize`. `names` yields those after a name. Raises Invalid.
    """
    after, text = _parse_token(call.query.get("pageToken", "")), call.query.get("pageSize", "")
    if not text:
        return list(names(after)), None
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and int(text)):
        raise Invalid("pageSize is not a number above 0", kind="invalid_page")
    size = int(text)
    page = list(islice(names(after), size + 1))
    if len(page) <= size:
        return page, None
    return page[:size], base64.urlsafe_b64encode(page[size - 1].encode()).decode()


def _parse_token(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except ValueError:
        raise Invalid("pageToken is not one of this catalog", kind="invalid_page") from None
