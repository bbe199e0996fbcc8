"""Path parameters that a client has escaped twice.

Clients generated for Go escape a path parameter and then the whole path: `main^1` arrives as
`main%255E1`, which a server that decodes the path once reads as `main%5E1`. lakeFS decodes path
parameters a second time, and query parameters never.

A text that was escaped twice is still a whole escaped text after it was decoded once: it holds
nothing but characters that Go leaves as they are and escapes of others. Only such a text is decoded
again, and only into what a reference can be. A tag whose own name holds a `%` is thus found by
every client, except for a name that is itself the escaped form of another reference, such as
`v%5E1`: it means `v^1`, as in lakeFS, and is found when it is escaped twice.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from anabranch.errors import Invalid
from anabranch.model.expression import parse_expression
from anabranch.model.names import check_tag

__all__ = ["read_segment"]

_ESCAPED = re.compile(
    r"(?:[A-Za-z0-9\-_.~$&+=:@!*'(),;]"
    # an escape, unless it is of a letter, a digit or one of - . _
    r"|%(?!2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9A])[0-9A-F]{2})*",
    re.IGNORECASE | re.ASCII,
)

_USER_NAMES = frozenset({"userId"})
"""Parameters that are no references: user names hold no `%`, but may hold a space."""


def read_segment(name: str, text: str) -> str:
    """Returns what a path parameter means that holds a `%` after the path was decoded."""
    if not _ESCAPED.fullmatch(text):
        return text
    try:
        decoded = unquote_to_bytes(text).decode()
        if name not in _USER_NAMES:
            check_tag(decoded if name == "tag" else parse_expression(decoded).base)
    except (UnicodeDecodeError, Invalid):
        return text
    return decoded
