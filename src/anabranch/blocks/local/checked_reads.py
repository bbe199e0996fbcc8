"""Whole reads of a local store's files, verified against the MD5 of when they were stored.

A file is verified once. Afterwards its identity (`kernel.file_state`) is cached, which changes when
the file is written to or restored, so a read of a verified file costs one fstat more than an
unverified one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from anabranch import _kernel as kernel
from anabranch.blocks.local.errors import gone_error, translate_error
from anabranch.blocks.local.range_reader import RangeReader
from anabranch.errors import Gone
from anabranch.spent_time import timed

__all__ = ["UP_TO_BYTES", "LocalCheckedReads"]

UP_TO_BYTES = 64 << 20

_MAX_INLINE_BYTES = 64 << 10
"""Larger files are not verified on the event loop: MD5 takes 1.5 ms per MiB."""
_MIN_CACHED = 1 << 16


class LocalCheckedReads:
    """The `CheckedReads` of a folder. `resolve_path` returns the path of a block's file; blocks of
    up to `up_to_bytes` are verified. At least `min_cached` identities of files are cached, of 60
    bytes each, and at most twice as many.
    """

    def __init__(
        self,
        resolve_path: Callable[[str], str],
        up_to_bytes: int = UP_TO_BYTES,
        min_cached: int = _MIN_CACHED,
    ) -> None:
        self.up_to_bytes = up_to_bytes
        self._min_cached = min_cached
        self._resolve_path = resolve_path
        self._verified: set[int] = set()
        self._verified_before: set[int] = set()
        self._damage_error: set[int] = set()
        self.found_damage = False
        """Whether any file was found damaged."""

    @timed("blocks")
    def get(self, address: str, size: int, md5: str) -> Iterator[bytes]:
        """Yields the bytes. Raises Gone before the first piece, or before the last."""
        path = self._resolve_path(address)
        pieces = RangeReader(path, address, 0, size)
        try:
            file_size, identity = pieces.state()
            if identity in self._verified or identity in self._verified_before:
                return pieces
            self._require_state(path, file_size, identity, size, md5)
        except BaseException:
            pieces.close()
            raise
        return self._verify(path, pieces, identity, md5)

    @timed("blocks")
    def read(self, address: str, size: int, md5: str) -> bytes:
        """Returns the bytes that `get` yields."""
        pieces = self.get(address, size, md5)
        first = next(pieces, b"")
        return b"".join([first, *pieces]) if len(first) < size else first

    def read_if_cached(self, address: str, size: int, md5: str) -> bytes | None:
        """Returns the bytes if they are in the page cache; None if not, and on any error."""
        cached = kernel.read_whole_cached(self._resolve_path(address), size)
        if cached is None:
            return None
        body, identity = cached
        if identity in self._verified or identity in self._verified_before:
            return body
        if size > _MAX_INLINE_BYTES or self._key(identity, md5) in self._damage_error:
            return None
        if hashlib.md5(body, usedforsecurity=False).hexdigest() != md5:
            return None
        self._add_verified(identity)
        return body

    def require(self, address: str, size: int, md5: str) -> None:
        """Raises Gone unless the file exists, has this size, and is not known to be damaged."""
        path = self._resolve_path(address)
        try:
            state = kernel.file_state(path)
        except OSError as error:
            raise translate_error(error, address) from error
        if state is None:
            raise gone_error(address)
        if state[0] != size or self.found_damage:
            self._require_state(path, *state, size, md5)

    def _verify(self, path: str, pieces: RangeReader, identity: int, md5: str) -> Iterator[bytes]:
        """Yields pieces, and the last one only if the MD5 matches."""
        digest = hashlib.md5(usedforsecurity=False)
        previous = b""
        with pieces:
            for piece in pieces:
                if previous:
                    yield previous
                digest.update(piece)
                previous = piece
        actual = digest.hexdigest()
        if actual != md5:
            # a retry of the truncated read is rejected before the first byte
            if len(self._damage_error) >= self._min_cached:
                self._damage_error.clear()
            self._damage_error.add(self._key(identity, md5))
            self.found_damage = True
            raise _damage_error(path, f"its bytes have the MD5 {actual}, the object's is {md5}")
        self._add_verified(identity)
        if previous:
            yield previous

    def _require_state(self, path: str, file_size: int, identity: int, size: int, md5: str) -> None:
        if file_size < size:
            raise Gone(f"{path}: the data ends at byte {file_size}", kind="data_missing")
        if file_size > size:
            raise _damage_error(path, f"it has {file_size} bytes, the object has {size}")
        if self._key(identity, md5) in self._damage_error:
            raise _damage_error(path, f"its bytes do not have the object's MD5, {md5}")

    def _add_verified(self, identity: int) -> None:
        if len(self._verified) >= self._min_cached:
            self._verified, self._verified_before = set(), self._verified
        self._verified.add(identity)

    @staticmethod
    def _key(identity: int, md5: str) -> int:
        """Returns the cache key of a file that does not have an MD5. The MD5 is part of it, because
        a client may claim a wrong one, which must not make the file unreadable to others.
        """
        return identity ^ hash(md5)


def _damage_error(path: str, reason: str) -> Gone:
    return Gone(
        f"{path}: the file is damaged: {reason}",
        kind="data_damaged",
        hint="Restore the file from a backup.",
    )
