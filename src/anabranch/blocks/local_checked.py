"""Whole reads of a local store's files, compared with the MD5 that was kept when they were stored.

A file is compared once, and known afterwards by its identity (`kernel.file_state`), which changes
when somebody writes to the file or restores it. So a read of a file that is known costs one look at
an open file more than a read that compares nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from anabranch import _kernel as kernel
from anabranch.blocks.local_errors import gone, translate
from anabranch.blocks.local_pieces import Pieces
from anabranch.errors import Gone

__all__ = ["UP_TO_BYTES", "LocalCheckedReads"]

UP_TO_BYTES = 64 << 20

_AT_ONCE_BYTES = 64 << 10
"""Larger ones are not compared where a read may not take long: MD5 takes 1.5 ms for a MiB."""
_GENERATION = 1 << 16
"""How many identities are kept at least, at 60 bytes each; twice as many at most."""


class LocalCheckedReads:
    """The `CheckedReads` of a folder. `path_of` gives the path of an address's file; blocks up to
    `up_to_bytes` are compared.
    """

    def __init__(self, path_of: Callable[[str], str], up_to_bytes: int = UP_TO_BYTES) -> None:
        self.up_to_bytes = up_to_bytes
        self._path_of = path_of
        self._good: set[int] = set()
        self._good_before: set[int] = set()
        self._damaged: set[int] = set()
        self.found_damage = False
        """Whether any file was found damaged."""

    def get(self, address: str, size: int, md5: str) -> Iterator[bytes]:
        """Yields the bytes. Raises Gone at once, or before the last piece."""
        path = self._path_of(address)
        pieces = Pieces(path, address, 0, size)
        try:
            found, identity = pieces.state()
            if identity in self._good or identity in self._good_before:
                return pieces
            self._require_state(path, found, identity, size, md5)
        except BaseException:
            pieces.close()
            raise
        return self._compared(path, pieces, identity, md5)

    def read(self, address: str, size: int, md5: str) -> bytes:
        """Returns the same as one string."""
        pieces = self.get(address, size, md5)
        first = next(pieces, b"")
        return b"".join([first, *pieces]) if len(first) < size else first

    def read_at_once(self, address: str, size: int, md5: str) -> bytes | None:
        """Returns the same if the system has it in its memory; None also where it goes wrong."""
        found = kernel.read_whole_cached(self._path_of(address), size)
        if found is None:
            return None
        body, identity = found
        if identity in self._good or identity in self._good_before:
            return body
        if size > _AT_ONCE_BYTES or self._key(identity, md5) in self._damaged:
            return None
        if hashlib.md5(body, usedforsecurity=False).hexdigest() != md5:
            return None
        self._remember(identity)
        return body

    def require(self, address: str, size: int, md5: str) -> None:
        """Raises Gone unless the file is there, of this size, and not known as damaged."""
        path = self._path_of(address)
        try:
            state = kernel.file_state(path)
        except OSError as error:
            raise translate(error, address) from error
        if state is None:
            raise gone(address)
        if state[0] != size or self.found_damage:
            self._require_state(path, *state, size, md5)

    def _compared(self, path: str, pieces: Pieces, identity: int, md5: str) -> Iterator[bytes]:
        """Yields pieces, the last one only if all have the MD5."""
        digest = hashlib.md5(usedforsecurity=False)
        held = b""
        with pieces:
            for piece in pieces:
                if held:
                    yield held
                digest.update(piece)
                held = piece
        found = digest.hexdigest()
        if found != md5:
            # who asks again for what broke off is refused before the first byte
            if len(self._damaged) >= _GENERATION:
                self._damaged.clear()
            self._damaged.add(self._key(identity, md5))
            self.found_damage = True
            raise _damaged(path, f"its bytes have the MD5 {found}, the object's is {md5}")
        self._remember(identity)
        if held:
            yield held

    def _require_state(self, path: str, found: int, identity: int, size: int, md5: str) -> None:
        if found < size:
            raise Gone(f"{path}: the data ends at byte {found}", kind="data_missing")
        if found > size:
            raise _damaged(path, f"it has {found} bytes, the object has {size}")
        if self._key(identity, md5) in self._damaged:
            raise _damaged(path, f"its bytes do not have the object's MD5, {md5}")

    def _remember(self, identity: int) -> None:
        if len(self._good) >= _GENERATION:
            self._good, self._good_before = set(), self._good
        self._good.add(identity)

    @staticmethod
    def _key(identity: int, md5: str) -> int:
        """Returns what stands for a file that has not an MD5: clients may claim any MD5 of a file
        of others, and must not make it unreadable to them.
        """
        return identity ^ hash(md5)


def _damaged(path: str, reason: str) -> Gone:
    return Gone(
        f"{path}: the file is damaged: {reason}",
        kind="data_damaged",
        hint="Restore the file from a backup.",
    )
