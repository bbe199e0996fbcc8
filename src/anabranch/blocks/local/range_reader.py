"""Reader of a range of a file in a local store."""

from __future__ import annotations

import os
import stat
from types import TracebackType
from typing import Self

from anabranch import _kernel as kernel
from anabranch.blocks.local.errors import NOT_THERE, gone_error, translate_error
from anabranch.errors import Gone
from anabranch.spent_time import timed

__all__ = ["PIECE_BYTES", "RangeReader", "open_block"]

PIECE_BYTES = 1 << 20
"""Maximum size of a piece."""

# opening a named pipe in place of a block must not wait
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def open_block(path: str, address: str, folder: int | None = None) -> tuple[int, int]:
    """Returns a descriptor of a block's file, which the caller closes, and its size in bytes. The
    path may be relative to the descriptor `folder`. Raises Gone unless a regular file exists.
    """
    try:
        descriptor = os.open(path, _FLAGS, dir_fd=folder)
    except NOT_THERE as error:
        raise gone_error(address) from error
    except OSError as error:
        raise translate_error(error, address) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise gone_error(address)
    return descriptor, status.st_size


class RangeReader:
    """Iterator of `length` bytes of a file from `start`, or of all from there.

    The file stays open until the last piece, `close`, or until the reader is collected, so a block
    that is deleted meanwhile is read to its end.
    """

    __slots__ = ("_address", "_at", "_descriptor", "remaining")

    def __init__(
        self,
        path: str,
        address: str,
        start: int,
        length: int | None,
        *,
        folder: int | None = None,
    ) -> None:
        self._descriptor = -1
        self._descriptor, size = open_block(path, address, folder)
        self._address = address
        self._at = start
        self.remaining = size - start if length is None else length
        """Number of bytes that were not returned yet."""
        if start < 0 or self.remaining < 0 or start + self.remaining > size:
            self.close()
            raise Gone(f"{address}: the data ends at byte {size}", kind="data_missing")

    def __iter__(self) -> Self:
        return self

    @timed("blocks", calls=0)
    def __next__(self) -> bytes:
        if not self.remaining or self._descriptor < 0:
            self.close()
            raise StopIteration
        try:
            piece = os.pread(self._descriptor, min(self.remaining, PIECE_BYTES), self._at)
        except OSError as error:
            self.close()
            raise translate_error(error, self._address) from error
        if not piece:
            self.close()
            raise Gone(f"{self._address}: the data ends early", kind="data_missing")
        self._at += len(piece)
        self.remaining -= len(piece)
        return piece

    def send_to(self, socket: int, amount: int) -> int:
        """Sends up to `amount` bytes to the descriptor of a socket, and returns how many. Raises
        the OSError of the socket, such as BlockingIOError, and Gone if the file ends early.
        """
        sent = os.sendfile(socket, self._descriptor, self._at, min(self.remaining, amount))
        if not sent and self.remaining:
            self.close()
            raise Gone(f"{self._address}: the data ends early", kind="data_missing")
        self._at += sent
        self.remaining -= sent
        return sent

    def state(self) -> tuple[int, int]:
        """Returns the size in bytes and the identity of the open file; see `kernel.file_state`."""
        return kernel.file_state(self._descriptor) or (0, 0)

    def close(self) -> None:
        """Closes the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
