"""Incremental reader of the requests on a connection.

The kernel parses heads and chunks strictly and within limits; this module combines them into
requests. It stops after each request, so that a pipelined request is not parsed before the response
to the current one was sent.
"""

from __future__ import annotations

from typing import Protocol

from anabranch import _kernel as kernel

__all__ = ["Receiver", "RequestReader"]


class Receiver(Protocol):
    """Receives the parts of requests."""

    def on_head(self, head: kernel.RequestHead) -> None:
        """Receives the head of a request."""

    def on_body(self, body: bytes) -> None:
        """Receives a part of its body."""

    def on_message_complete(self) -> None:
        """Receives the end of the request."""


class RequestReader:
    """State of the request that is being received on one connection."""

    def __init__(self) -> None:
        self._head = kernel.HeadReader()
        self._chunks: kernel.ChunkReader | None = None
        self._remaining = 0  # bytes of a body whose length is known
        self.in_body = False
        """Whether the head is complete, but not the body."""
        self.between = True
        """Whether no byte of the next request has arrived."""

    @property
    def in_head(self) -> bool:
        """Whether a head is incomplete."""
        return not (self.between or self.in_body)

    def read(self, data: bytes, start: int, receiver: Receiver) -> int:
        """Reads `data` from `start` to the end of the request or of the data, and returns the end
        position. Raises MalformedRequest, after which the connection must be closed.
        """
        if not self.in_body:
            start, head = self._head.take(data, start)
            if head is None:
                self.between = self._head.empty
                return start
            self.between = False
            self.in_body = True
            if head.length is None:
                self._chunks = kernel.ChunkReader()
            else:
                self._remaining = head.length
            receiver.on_head(head)
        start = self._read_body(data, start, receiver)
        if not self._remaining and self._chunks is None:
            self.in_body = False
            self.between = True
            receiver.on_message_complete()
        return start

    def _read_body(self, data: bytes, start: int, receiver: Receiver) -> int:
        if self._chunks is not None:
            end, body = self._chunks.take(data, start)
            if self._chunks.done:
                self._chunks = None
        else:
            end = min(start + self._remaining, len(data))
            body = data[start:end]  # no copy for the whole of `data`
            self._remaining -= len(body)
        if body:
            receiver.on_body(body)
        return end
