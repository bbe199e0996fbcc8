"""Multipart uploads to the block store in memory."""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Sequence

from anabranch.blocks.multipart.errors import part_not_found, upload_not_found, wrong_md5
from anabranch.model.uploads.part import Part, multipart_checksum

__all__ = ["MemoryUploads"]


class _Upload:
    """An upload; `completed` is the checksum of the block that it was completed to, or ""."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.parts: dict[int, tuple[Part, bytes]] = {}
        self.completed = ""


class MemoryUploads:
    """The uploads of a store. `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._uploads: dict[str, _Upload] = {}

    def open(self, address: str) -> str:
        """Opens an upload and returns its id."""
        upload_id = f"{next(self._numbers):020d}"
        self._uploads[upload_id] = _Upload(address)
        return upload_id

    def put(self, address: str, upload_id: str, number: int, body: bytes, md5: str | None) -> Part:
        """Stores a part, replacing one of that number. Raises NotFound and Invalid."""
        checksum = hashlib.md5(body, usedforsecurity=False).hexdigest()
        if md5 not in {None, checksum}:
            raise wrong_md5(address, number)
        part = Part(number, len(body), checksum, int(self._clock()))
        with self._lock:
            self._find(address, upload_id).parts[number] = part, body
        return part

    def parts(self, address: str, upload_id: str) -> list[Part]:
        """Returns the stored parts, by number. Raises NotFound."""
        with self._lock:
            parts = self._find(address, upload_id).parts
            return [parts[number][0] for number in sorted(parts)]

    def complete(
        self, address: str, upload_id: str, parts: Sequence[tuple[int, str]]
    ) -> tuple[bytes, str]:
        """Returns the body of the joined parts and its checksum. Raises NotFound and Invalid."""
        checksum = multipart_checksum([part[1] for part in parts])
        with self._lock:
            upload = self._find(address, upload_id)
            if upload.completed not in {"", checksum}:
                raise upload_not_found()
            bodies = []
            for number, expected in parts:
                part, body = upload.parts.get(number, (None, b""))
                if part is None or part.checksum != expected:
                    raise part_not_found(address, number)
                bodies.append(body)
            upload.completed = checksum
        return b"".join(bodies), checksum

    def abort(self, address: str, upload_id: str) -> None:
        """Removes an upload; an unknown one is ignored."""
        with self._lock:
            if upload_id in self._uploads and self._uploads[upload_id].address == address:
                del self._uploads[upload_id]

    def _find(self, address: str, upload_id: str) -> _Upload:
        upload = self._uploads.get(upload_id)
        if upload is None or upload.address != address:
            raise upload_not_found()
        return upload
