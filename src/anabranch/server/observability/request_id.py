"""The name under which a request can be found again in logs: the client's, or one of ours."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

__all__ = ["HEADER", "RequestIds"]

HEADER = "x-request-id"

_FIT = re.compile(r"[!-~]{1,128}")


class RequestIds:
    """Gives names to requests. `prefix` tells one process's from another's."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._numbers = itertools.count(1)

    def of(self, headers: Mapping[str, str]) -> str:
        """Returns the request's name: the one it came with if it is fit to be sent back."""
        given = headers.get(HEADER)
        if given is not None and _FIT.fullmatch(given):
            return given
        return f"{self._prefix}-{next(self._numbers):x}"
