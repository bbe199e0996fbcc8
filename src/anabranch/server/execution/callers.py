"""Who makes a request, for the shares of callers in the thread pools: known before it is
authenticated, and at no cost.

A request whose credentials were authenticated before is of their user, whose key pairs and tokens
have one share together. All others of an address are one caller, so that made-up names give no more
turns. This decides about turns alone, never about rights: a request that names the
key of another user waits with that user's calls, and is refused when it is authenticated.
"""

from __future__ import annotations

import binascii
import re
from collections import OrderedDict
from urllib.parse import unquote

from anabranch.access.sessions.tokens import parse_session_cookie
from anabranch.http.request_head import RequestHead

__all__ = ["Callers", "named_credentials"]

_MAX_KNOWN = 10_000

_OF_S3 = "AWS4", "AWS "
"""How the header of a request to the S3 gateway begins."""

_SIGNED = re.compile(r"Credential=([^/,\s]+)|^AWS ([^:\s]+):")
_PRESIGNED = re.compile(
    r"(?:^|&)(?:X-Amz-Credential=([^&]+)|AWSAccessKeyId=([^&]+))", re.IGNORECASE
)


class Callers:
    """The callers of requests. Not thread-safe."""

    def __init__(self) -> None:
        self._users: OrderedDict[str, str] = OrderedDict()

    def of(self, head: RequestHead) -> str:
        """Returns the caller of a request, never the empty string."""
        user = self._users.get(named_credentials(head))
        return f"user {user}" if user is not None else f"address {head.client}"

    def learn(self, head: RequestHead, user: str) -> None:
        """Notes that a request was authenticated as a user; of many, the latest are known."""
        named = named_credentials(head)
        self._users[named] = user
        self._users.move_to_end(named)
        if len(self._users) > _MAX_KNOWN:
            self._users.popitem(last=False)


def named_credentials(head: RequestHead) -> str:
    """Returns the credentials by which a request would be authenticated, without their secrets: the
    id of a key pair, or a number for a token; the client's address if it names none.
    """
    header = head.headers.get("authorization", "")
    if header.startswith(_OF_S3):
        found = _SIGNED.search(header)
        return f"key {found[1] or found[2]}" if found is not None else f"address {head.client}"
    scheme, _, value = header.partition(" ")
    scheme, value = scheme.lower(), value.strip()
    if scheme == "basic":
        try:
            pair = binascii.a2b_base64(value)
        except ValueError:
            return f"address {head.client}"
        return f"key {pair.partition(b':')[0].decode(errors='replace')}"
    if not header and (found := _PRESIGNED.search(head.query)) is not None:
        return f"key {unquote(found[1] or found[2]).partition('/')[0]}"
    token = value if scheme == "bearer" else parse_session_cookie(head.headers.get("cookie", ""))
    return f"token {hash(token)}" if token else f"address {head.client}"
