"""Uploads in parts of the store in memory."""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Sequence

from anabranch.blocks.upload_errors import part_not_found, upload_not_found, wrong_md5
from anabranch.model.part import Part, checksum_of_parts

__all__ = ["MemoryUploads"]


class _Upload:
    """What is held of one upload; `whole` is the checksum of the block that it has become."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.held: dict[int, tuple[Part, bytes]] = {}
        self.whole = ""


class MemoryUploads:
    """The uploads of one store. `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._uploads: dict[str, _Upload] = {}

    def open(self, address: str) -> str:
        """Returns the id of a new upload."""
        upload_id = f"{next(self._numbers):020d}"
        self._uploads[upload_id] = _Upload(address)
        return upload_id

    def put(self, address: str, upload_id: str, number: int, body: bytes, md5: str | None) -> Part:
        """Keeps a part, in place of one that is there."""
        checksum = hashlib.md5(body, usedforsecurity=False).hexdigest()
        if md5 not in {None, checksum}:
            raise wrong_md5(address, number)
        part = Part(number, len(body), checksum, int(self._clock()))
        with self._lock:
            self._find(address, upload_id).held[number] = part, body
        return part

    def parts(self, address: str, upload_id: str) -> list[Part]:
        """Returns the parts that are there, by number."""
        with self._lock:
            held = self._find(address, upload_id).held
            return [held[number][0] for number in sorted(held)]

    def complete(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> tuple[bytes, str]:
        """Returns the block that parts make, and its checksum."""
        checksum = checksum_of_parts([part[1] for part in parts])
        with self._lock:
            upload = self._find(address, upload_id)
            if upload.whole not in {"", checksum}:
                raise upload_not_found()
            bodies = []
            for number, expected in parts:
                part, body = upload.held.get(number, (None, b""))
                if part is None or part.checksum != expected:
                    raise part_not_found(address, number)
                bodies.append(body)
            upload.whole = checksum
        return b"".join(bodies), checksum

    def abort(self, address: str, upload_id: str) -> None:
        """Forgets an upload."""
        with self._lock:
            if upload_id in self._uploads and self._uploads[upload_id].address == address:
                del self._uploads[upload_id]

    def _find(self, address: str, upload_id: str) -> _Upload:
        upload = self._uploads.get(upload_id)
        if upload is None or upload.address != address:
            raise upload_not_found()
        return upload
