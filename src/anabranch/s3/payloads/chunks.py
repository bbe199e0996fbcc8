"""Bodies in chunks, the content encoding `aws-chunked`.

    size in hexadecimal [;chunk-signature=64 digits] CR LF, data CR LF, and so on;
    0 [;chunk-signature=…] CR LF, trailing headers `name:value`, CR LF

Chunks may have any size: S3 refuses small ones, which some clients send all the same.
[AWS, "Signature calculations for trailing headers"; RFC 9112, 7.1]
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator

from anabranch.s3.errors import S3Error
from anabranch.s3.payloads.checksums import PREFIX, decode
from anabranch.s3.payloads.claims import Claims
from anabranch.s3.payloads.source import PayloadSource
from anabranch.signing.chunk_signatures import ChunkSignatures

__all__ = ["ChunkedPayload"]

_SIZE = re.compile(rb"[0-9a-fA-F]{1,16}")
_EXTENSION = b"chunk-signature="
_TRAILER_SIGNATURE = "x-amz-trailer-signature"


class ChunkedPayload:
    """Takes a body in chunks apart. `checksum` is the one that followed, once all is read."""

    def __init__(
        self, source: PayloadSource, claims: Claims, signatures: ChunkSignatures | None
    ) -> None:
        self._source = source
        self._claims = claims
        self._signatures = signatures
        self.checksum: tuple[str, bytes] | None = None

    def pieces(self) -> Iterator[bytes]:
        """Yields the object's bytes. Raises S3Error: InvalidChunkSizeError, IncompleteBody,
        SignatureDoesNotMatch, MalformedTrailerError, InvalidRequest.
        """
        left = self._claims.length or 0
        while True:
            size, signature = self._header(left)
            left -= size
            yield from self._data(size, signature)
            if not size:
                break
        self._end(self._source.rest())

    def _header(self, left: int) -> tuple[int, bytes]:
        digits, _, extension = self._source.line().partition(b";")
        if not _SIZE.fullmatch(digits):
            raise S3Error("InvalidChunkSizeError", BadChunkSize=digits[:40].decode("latin-1"))
        size = int(digits, 16)
        if size > left:
            raise S3Error(
                "InvalidChunkSizeError",
                "The chunks are longer than x-amz-decoded-content-length",
                BadChunkSize=str(size),
            )
        if self._signatures is not None and not extension.startswith(_EXTENSION):
            raise S3Error("IncompleteBody", "A chunk has no signature")
        return size, extension.removeprefix(_EXTENSION)

    def _data(self, size: int, signature: bytes) -> Iterator[bytes]:
        signatures = self._signatures
        if signatures is None:
            yield from self._source.take(size)
        else:
            digest = hashlib.sha256()
            for piece in self._source.take(size):
                digest.update(piece)
                yield piece
            _compare(signatures.next(digest.hexdigest()), signature)
        if size and self._source.line():
            raise S3Error("IncompleteBody", "A chunk is longer than its size")

    def _end(self, rest: bytes) -> None:
        """Reads what follows the last chunk; only that may lack the empty line."""
        trailers: dict[str, str] = {}
        for line in rest.split(b"\n"):
            text = line.decode("latin-1").removesuffix("\r")
            if not text:
                continue
            name, colon, value = text.partition(":")
            name = name.lower()
            if not colon or name in trailers:
                raise S3Error("MalformedTrailerError")
            trailers[name] = value.lstrip(" ")
        signature = trailers.pop(_TRAILER_SIGNATURE, None)
        if self._signatures is not None and self._claims.trailers:
            if signature is None:
                raise S3Error("MalformedTrailerError")
            lines = "".join(f"{name}:{value}\n" for name, value in trailers.items())
            expected = self._signatures.trailer(lines.encode("latin-1"))
            _compare(expected, signature.encode("latin-1"))
        self._read_checksum(trailers)

    def _read_checksum(self, trailers: dict[str, str]) -> None:
        name = self._claims.trailer
        if list(trailers) != ([] if name is None else [PREFIX + name]):
            raise S3Error("MalformedTrailerError")
        if name is not None:
            value = decode(name, trailers[PREFIX + name])
            if value is None:
                raise S3Error(
                    "InvalidRequest", f"Value for {PREFIX}{name} trailing header is invalid."
                )
            self.checksum = name, value


def _compare(expected: str, given: bytes) -> None:
    if not hmac.compare_digest(expected.encode("ascii"), given):
        raise S3Error("SignatureDoesNotMatch")
