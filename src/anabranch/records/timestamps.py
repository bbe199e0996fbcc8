"""Conversion of times to protobuf's Timestamp: seconds and nanoseconds."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

__all__ = ["read_time", "write_time"]

_NANOSECONDS = 1_000_000_000


def write_time(timestamp: Timestamp, time: float) -> None:
    """Sets a timestamp to a time in seconds since 1970."""
    timestamp.seconds = seconds = int(time)
    timestamp.nanos = int((time - seconds) * _NANOSECONDS)


def read_time(timestamp: Timestamp) -> float:
    """Returns the time, in seconds since 1970."""
    return timestamp.seconds + timestamp.nanos / _NANOSECONDS
