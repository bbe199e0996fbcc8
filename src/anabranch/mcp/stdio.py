"""The protocol over standard input and output, for one client: a message a line.

The SDK reads and writes the messages. This adds what it leaves open: a line that is too long is
skipped without being held, and a line that is no message has the error of JSON-RPC as its response.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any, BinaryIO, cast

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from anabranch.mcp.limits import MAX_MESSAGE_BYTES

__all__ = ["serve_stdio"]


def serve_stdio(server: Server[Any]) -> None:
    """Serves the client at standard input and output until it closes them. What else this process
    and its children print goes to standard error.
    """
    asyncio.run(_serve(server, *_take_streams()))


async def _serve(server: Server[Any], received: BinaryIO, sent: BinaryIO) -> None:
    output = _Output(sent)
    lines = _Lines(received, output)
    # the SDK uses no more of both files than these classes have
    streams = stdio_server(
        cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", output)
    )
    async with streams as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Returns files of the client's messages and of ours. The descriptors 0 and 1 are replaced, so
    that nothing else takes the ones or mixes with the others.
    """
    sys.stdout.flush()
    received = os.fdopen(os.dup(0), "rb")
    sent = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return received, sent


class _Output:
    """Writes whole lines, one after another."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = asyncio.Lock()

    async def write(self, line: str) -> None:
        """Writes a line."""
        async with self._lock:
            await asyncio.to_thread(_write_all, self._file, line.encode())

    async def flush(self) -> None:
        """Does nothing: what was written is not buffered."""

    async def refuse(self, code: int, message: str) -> None:
        """Responds to a line that is no message."""
        error = {"code": code, "message": message}
        await self.write(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}) + "\n")


def _write_all(file: BinaryIO, content: bytes) -> None:
    remaining = memoryview(content)
    while remaining:
        written = os.write(file.fileno(), remaining)
        remaining = remaining[written:]


class _Lines:
    """The lines that are messages."""

    def __init__(self, file: BinaryIO, output: _Output) -> None:
        self._file = file
        self._output = output

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            line = await asyncio.to_thread(self._file.readline, MAX_MESSAGE_BYTES + 1)
            if not line:
                return
            if len(line) > MAX_MESSAGE_BYTES:
                await asyncio.to_thread(self._skip_rest, line)
                message = f"a message may have {MAX_MESSAGE_BYTES} bytes"
                await self._output.refuse(types.INVALID_REQUEST, message)
            elif line.strip():
                reason = _reason_against(line)
                if reason:
                    await self._output.refuse(*reason)
                else:
                    yield line.decode()

    def _skip_rest(self, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = self._file.readline(1 << 20)


def _reason_against(line: bytes) -> tuple[int, str] | None:
    """Returns the code and message of the error of a line, None for a message."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return types.PARSE_ERROR, "the line is not JSON in UTF-8"
    try:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return types.INVALID_REQUEST, "the line is not a message of JSON-RPC 2.0"
    return None
