"""Reads of many objects by one request: limits, and the frames of the response.

For each path, in order, a frame: its state in one byte, its length in eight (big-endian), and as
many bytes. A lost object's frame has zeros in place of its bytes, because the response's length is
sent before they are read.
"""

from __future__ import annotations

import enum
import struct

__all__ = ["FRAME_HEADER", "MAX_BATCH_BYTES", "MAX_BATCH_OBJECTS", "FrameState"]

MAX_BATCH_OBJECTS = 1000
MAX_BATCH_BYTES = 32 << 20
"""The most bytes that the objects of a request have together."""

FRAME_HEADER = struct.Struct(">BQ")
"""State and length."""


class FrameState(enum.IntEnum):
    """What a frame has."""

    CONTENT = 0
    """The bytes of the object."""
    NOT_FOUND = 1
    """Nothing: there is no object at the path."""
    LOST = 2
    """Zeros: the bytes of the object are lost or damaged."""
