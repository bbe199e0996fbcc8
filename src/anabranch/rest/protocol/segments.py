"""Path parameters that clients have escaped twice.

Clients generated for Go escape a path parameter and then the whole path: `main^1` arrives as
`main%255E1`, which a server that decodes the path once reads as `main%5E1`. lakeFS decodes path
parameters a second time, and query parameters never.

A text that was escaped twice and decoded once is still completely escaped: it has only characters
that Go does not escape, and escapes of other characters. Only such a text is decoded again, and
only if the result is a valid reference. All clients can thus use a tag whose name has a `%`. The
exception are names that are the escaped form of another reference, such as `v%5E1`: it means `v^1`,
as in lakeFS, and a client must escape it twice to get the tag.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from anabranch.errors import Invalid
from anabranch.model.names import check_tag
from anabranch.model.references.expression import parse_expression

__all__ = ["read_segment"]

_ESCAPED = re.compile(
    r"(?:[A-Za-z0-9\-_.~$&+=:@!*'(),;]"
    # an escape, unless it is of a letter, a digit or one of - . _
    r"|%(?!2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9A])[0-9A-F]{2})*",
    re.IGNORECASE | re.ASCII,
)

_USER_NAMES = frozenset({"userId"})
"""Parameters that are not references: names of users have no `%` but may have a space."""


def read_segment(name: str, text: str) -> str:
    """Returns the value of a path parameter that still has a `%` after the path was decoded."""
    if not _ESCAPED.fullmatch(text):
        return text
    try:
        decoded = unquote_to_bytes(text).decode()
        if name not in _USER_NAMES:
            check_tag(decoded if name == "tag" else parse_expression(decoded).base)
    except (UnicodeDecodeError, Invalid):
        return text
    return decoded
