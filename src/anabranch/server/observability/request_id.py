"""Request ids, by which requests are found in logs: sent by the client, or generated."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

__all__ = ["HEADER", "RequestIds"]

HEADER = "x-request-id"

_VALID = re.compile(r"[!-~]{1,128}")


class RequestIds:
    """Assigns ids to requests. `prefix` makes the ids of each process distinct."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._numbers = itertools.count(1)

    def of(self, headers: Mapping[str, str]) -> str:
        """Returns the id in the request's headers if it is valid, otherwise a new one."""
        given = headers.get(HEADER)
        if given is not None and _VALID.fullmatch(given):
            return given
        return f"{self._prefix}-{next(self._numbers):x}"
