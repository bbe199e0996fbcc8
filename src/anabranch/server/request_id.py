"""The name under which a request can be found again in logs: the client's, or one of ours."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

__all__ = ["HEADER", "RequestIds"]

HEADER = b"x-request-id"

_FIT = re.compile(rb"[!-~]{1,128}")


class RequestIds:
    """Gives names to requests. `prefix` tells one process's from another's."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix.encode()
        self._numbers = itertools.count(1)

    def of(self, headers: Mapping[bytes, bytes]) -> bytes:
        """Returns the request's name: the one it came with if it is fit to be sent back."""
        given = headers.get(HEADER)
        if given is not None and _FIT.fullmatch(given):
            return given
        return b"%s-%x" % (self._prefix, next(self._numbers))
