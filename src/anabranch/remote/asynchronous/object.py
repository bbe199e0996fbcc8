"""An object on a server that is open for reading, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator

from anabranch.model.objects.entry import Entry
from anabranch.remote.asynchronous.threads import Threads
from anabranch.remote.remote_object import RemoteObject

__all__ = ["AsyncObject"]


class AsyncObject:
    """One version of an object: its properties, and its bytes. `file` is a file for code that is
    not asynchronous, as in a thread.
    """

    def __init__(self, file: RemoteObject, threads: Threads) -> None:
        self.file = file
        self._threads = threads

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.file!r}>"

    @property
    def entry(self) -> Entry:
        """Its size, checksum, time and metadata."""
        return self.file.entry

    @property
    def physical_address(self) -> str:
        """The full address of the bytes in the store."""
        return self.file.physical_address

    @property
    def byte_count(self) -> int:
        """The size of the object."""
        return self.file.byte_count

    async def read_bytes(self, start: int = 0, length: int | None = None) -> bytes:
        """Returns bytes from a position, by default all that follow. Raises Gone for bytes that are
        lost.
        """
        return await self._threads.run(lambda: self.file.read_bytes(start, length))

    async def chunks(self, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """Yields `length` bytes from `start` on, by default all that follow, in chunks of at most
        1 MiB, as they arrive.
        """
        async for chunk in self._threads.iterate(self.file.chunks(start, length)):
            yield chunk
