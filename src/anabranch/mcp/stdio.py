"""The protocol over standard input and output, for one client: a message a line.

The SDK reads and writes the messages. This adds what it leaves open: a line that is too long is
skipped without being held, and a line that is no message has the error of JSON-RPC as its response.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Any, cast

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from anabranch.files.write_pieces import write_pieces
from anabranch.mcp.daemon_thread import in_daemon_thread
from anabranch.mcp.limits import MAX_MESSAGE_BYTES
from anabranch.mcp.line_reader import LineReader
from anabranch.mcp.messages import Fault, fault_of

__all__ = ["serve_stdio"]


def serve_stdio(server: Server[Any]) -> None:
    """Serves the client at standard input and output until it closes them. What else this process
    and its children print goes to standard error.
    """
    asyncio.run(_serve(server, *_take_streams()))


async def _serve(server: Server[Any], received: int, sent: int) -> None:
    output = _Output(sent)
    lines = _Lines(LineReader(received, MAX_MESSAGE_BYTES), output)
    # the SDK uses no more of both files than these classes have
    streams = stdio_server(
        cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", output)
    )
    async with streams as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _take_streams() -> tuple[int, int]:
    """Returns descriptors of the client's messages and of ours. Those with the numbers 0 and 1 are
    replaced, so that nothing else takes the ones or mixes with the others.
    """
    sys.stdout.flush()
    received, sent = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return received, sent


class _Output:
    """Writes whole lines, one after another."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = asyncio.Lock()

    async def write(self, line: str) -> None:
        """Writes a line. What nobody reads any more is dropped: the input ends as well, then."""
        async with self._lock:
            with suppress(BrokenPipeError):
                await in_daemon_thread(partial(write_pieces, self._descriptor, [line.encode()]))

    async def flush(self) -> None:
        """Does nothing: what was written is not buffered."""

    async def refuse(self, fault: Fault) -> None:
        """Responds to a line that is no message."""
        await self.write(fault.response() + "\n")


class _Lines:
    """The lines that are messages."""

    def __init__(self, reader: LineReader, output: _Output) -> None:
        self._reader = reader
        self._output = output

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await in_daemon_thread(self._reader.read)) is not None:
            if len(line) > MAX_MESSAGE_BYTES:
                message = f"a message may have {MAX_MESSAGE_BYTES} bytes"
                await self._output.refuse(Fault(types.INVALID_REQUEST, message))
            elif line.strip():
                fault = fault_of(line)
                if fault is None:
                    yield line.decode()
                else:
                    await self._output.refuse(fault)
