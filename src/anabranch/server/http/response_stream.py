"""Streaming of responses: pieces are read on threads, and sent with backpressure. What follows the
first piece of a file is sent by the kernel.

No thread is occupied while a slow client receives a piece, and reading stops when the client has
disconnected. The first piece is read before the head is sent, so that lost data results in an error
status.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

from anabranch.errors import AnabranchError
from anabranch.http.response import Response
from anabranch.server.execution.thread_pool import ThreadPool
from anabranch.server.http.exchange import Exchange
from anabranch.server.http.file_sending import FileSink, send_file, taken
from anabranch.spent_time import performed

__all__ = ["Sink", "send_pieces"]


class Sink(FileSink, Protocol):
    """The connection that a response is sent on."""

    def send_first(self, exchange: Exchange, response: Response, body: bytes) -> None:
        """Sends the head of a response and the available part of its body."""

    async def send_more(self, body: bytes) -> None:
        """Sends more of the body, once the write buffer has drained."""


async def send_pieces(
    exchange: Exchange, response: Response, sink: Sink, pool: ThreadPool
) -> Response:
    """Sends a response with pieces, and returns it. If the first piece cannot be read, nothing is
    sent, and the response for the error is returned. Raises errors that interrupt the body.
    """
    pieces = response.pieces or iter(())
    caller, spent = exchange.caller, exchange.spent
    sending_since = known = 0.0
    try:
        try:
            piece = await pool.run(performed(spent, _following), pieces, caller=caller)
        except AnabranchError as error:
            error_response = exchange.request.respond_to_error(error)
            error_response.error = error
            return error_response
        sending_since, known = time.perf_counter(), spent.known
        sink.send_first(exchange, response, piece)
        missing = response.length - len(piece)
        if missing:
            missing -= await send_file(pieces, sink, pool, caller=caller, spent=spent)
        while piece and not exchange.is_cut_off:
            following = performed(spent, _following)
            piece = await pool.run_admitted(following, pieces, caller=caller)
            await taken(spent, sink.send_more(piece))
            missing -= len(piece)
        if missing and not exchange.is_cut_off:
            raise RuntimeError(f"the body differs from its length by {-missing} bytes")
        return response
    finally:
        await pool.run_admitted(performed(spent, _close), pieces, caller=caller)
        if sending_since:
            took = time.perf_counter() - sending_since
            spent.sending += took - (spent.known - known)


def _following(pieces: Iterator[bytes]) -> bytes:
    return next(pieces, b"")


def _close(pieces: Iterator[bytes]) -> None:
    close = getattr(pieces, "close", None)
    if close is not None:
        close()
