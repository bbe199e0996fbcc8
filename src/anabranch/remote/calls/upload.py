"""Uploads of objects, whose bytes are sent as they are read."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from anabranch.client.rest_client import Request, RestClient
from anabranch.errors import AnabranchError, Invalid
from anabranch.model.objects.stat import Stat
from anabranch.remote.call import Exchange
from anabranch.remote.calls.results import stat_result
from anabranch.remote.calls.stored_upload import LARGE_UPLOAD, StoredUpload

__all__ = ["Upload"]

_TOKEN = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
"""Names of headers, whose case is lost on the way."""
_VALUE = re.compile(r"(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?")


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload to the objects of a branch. It is repeated if `chunks` can be read again, and if
    the object may be there already: without `if_absent`.
    """

    segments: tuple[str, ...]
    params: Mapping[str, Any]
    chunks: Iterable[bytes]
    content_type: str
    metadata: dict[str, str]
    if_absent: bool

    def run(self, client: RestClient) -> Stat:
        """Sends the bytes and returns the object. Raises AnabranchError, and what reading the
        chunks raises.
        """
        if not self.content_type.isascii() or not self.content_type.isprintable():
            raise Invalid(
                f"content type {self.content_type!r}: a header cannot have it",
                kind="invalid_content_type",
                hint="Use a media type such as text/csv.",
            )
        if isinstance(self.chunks, list | tuple) and sum(map(len, self.chunks)) >= LARGE_UPLOAD:
            stored = StoredUpload(self.segments, self.params, self.chunks, self.if_absent)
            stat = stored.run(client, self.content_type, self.metadata)
            if stat is not None:
                return stat
        reading = _Reading(self.chunks)
        headers = {"Content-Type": self.content_type, **_metadata_headers(self.metadata)}
        if self.if_absent:
            headers["If-None-Match"] = "*"
        content: Any = reading
        if isinstance(self.chunks, list | tuple):
            headers["Content-Length"] = str(sum(map(len, self.chunks)))
            content = reading if len(self.chunks) > 1 else b"".join(self.chunks)
        request = Request(
            *("POST", self.segments, self.params, headers, content),
            repeatable=reading.can_repeat and not self.if_absent,
        )
        try:
            return Exchange(request, stat_result).run(client)
        except (AnabranchError, _ReadError):
            if reading.error is not None:
                raise reading.error from None
            raise


class _ReadError(Exception):
    """The chunks could not be read: the request is abandoned."""


class _Reading:
    """Yields the chunks again at each call, if they can be read again, and keeps the error of
    reading them: to the connection, it would look like one of its own.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self._first: Iterator[bytes] | None = iter(chunks)
        self.can_repeat = self._first is not chunks
        self.error: Exception | None = None

    def __call__(self) -> Iterator[bytes]:
        source, self._first = self._first, None
        source = iter(self._chunks) if source is None else source
        try:
            for chunk in source:
                if chunk:  # an empty piece would end a body of unknown length
                    yield chunk
        except Exception as error:
            self.error = error
            raise _ReadError from error


def _metadata_headers(metadata: Mapping[str, str]) -> dict[str, str]:
    """Returns headers with metadata: lakeFS's where these keep them as they are."""
    if all(_TOKEN.fullmatch(key) and _VALUE.fullmatch(metadata[key]) for key in metadata):
        return {f"x-lakefs-meta-{key}": value for key, value in metadata.items()}
    encoded = urlsafe_b64encode(msgspec.json.encode(metadata)).decode()
    return {"X-Anabranch-Metadata": encoded}
