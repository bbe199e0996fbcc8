"""The standard input and output of a process that exchanges messages over them."""

from __future__ import annotations

import os
from typing import IO

__all__ = ["take_standard_streams"]


def take_standard_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Returns streams of this process's standard input and output, which other code loses: what
    that prints goes to standard error, and it has no input.
    """
    streams = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return streams
