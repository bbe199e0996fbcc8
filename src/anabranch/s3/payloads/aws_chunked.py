"""Decoder of the content encoding `aws-chunked`.

    size in hexadecimal [;chunk-signature=64 digits] CR LF, data CR LF, and so on;
    0 [;chunk-signature=…] CR LF, trailing headers `name:value`, CR LF

Chunks may have any size: S3 rejects small ones, but some clients send them.
[AWS, "Signature calculations for trailing headers"; RFC 9112, 7.1]
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator

from anabranch.s3.payloads.body_headers import BodyDeclaration
from anabranch.s3.payloads.checksums import PREFIX, decode
from anabranch.s3.payloads.source import PayloadSource
from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.chunk_signatures import ChunkSignatures

__all__ = ["ChunkedPayload"]

_SIZE = re.compile(rb"[0-9a-fA-F]{1,16}")
_EXTENSION = b"chunk-signature="
_TRAILER_SIGNATURE = "x-amz-trailer-signature"


class ChunkedPayload:
    """Decoder of a chunked body. `checksum` is the trailing checksum after the body was read."""

    def __init__(
        self,
        source: PayloadSource,
        declaration: BodyDeclaration,
        signatures: ChunkSignatures | None,
    ) -> None:
        self._source = source
        self._declaration = declaration
        self._signatures = signatures
        self.checksum: tuple[str, bytes] | None = None

    def pieces(self) -> Iterator[bytes]:
        """Yields the object's bytes. Raises S3Error: InvalidChunkSizeError, IncompleteBody,
        SignatureDoesNotMatch, MalformedTrailerError, InvalidRequest.
        """
        remaining = self._declaration.length or 0
        while True:
            size, signature = self._read_chunk_header(remaining)
            remaining -= size
            yield from self._read_chunk(size, signature)
            if not size:
                break
        self._parse_trailers(self._source.read_rest())

    def _read_chunk_header(self, remaining: int) -> tuple[int, bytes]:
        digits, _, extension = self._source.read_line().partition(b";")
        if not _SIZE.fullmatch(digits):
            raise S3Error("InvalidChunkSizeError", BadChunkSize=digits[:40].decode("latin-1"))
        size = int(digits, 16)
        if size > remaining:
            raise S3Error(
                "InvalidChunkSizeError",
                "The chunks are longer than x-amz-decoded-content-length",
                BadChunkSize=str(size),
            )
        if self._signatures is not None and not extension.startswith(_EXTENSION):
            raise S3Error("IncompleteBody", "A chunk has no signature")
        return size, extension.removeprefix(_EXTENSION)

    def _read_chunk(self, size: int, signature: bytes) -> Iterator[bytes]:
        signatures = self._signatures
        if signatures is None:
            yield from self._source.read(size)
        else:
            digest = hashlib.sha256()
            for piece in self._source.read(size):
                digest.update(piece)
                yield piece
            _require_signature(signatures.next(digest.hexdigest()), signature)
        if size and self._source.read_line():
            raise S3Error("IncompleteBody", "A chunk is longer than its size")

    def _parse_trailers(self, rest: bytes) -> None:
        """Parses the trailing headers; the empty line after them may be missing."""
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
        if self._signatures is not None and self._declaration.trailers:
            if signature is None:
                raise S3Error("MalformedTrailerError")
            lines = "".join(f"{name}:{value}\n" for name, value in trailers.items())
            expected = self._signatures.trailer(lines.encode("latin-1"))
            _require_signature(expected, signature.encode("latin-1"))
        self._parse_checksum(trailers)

    def _parse_checksum(self, trailers: dict[str, str]) -> None:
        name = self._declaration.trailer
        if list(trailers) != ([] if name is None else [PREFIX + name]):
            raise S3Error("MalformedTrailerError")
        if name is not None:
            value = decode(name, trailers[PREFIX + name])
            if value is None:
                raise S3Error(
                    "InvalidRequest", f"Value for {PREFIX}{name} trailing header is invalid."
                )
            self.checksum = name, value


def _require_signature(expected: str, given: bytes) -> None:
    if not hmac.compare_digest(expected.encode("ascii"), given):
        raise S3Error("SignatureDoesNotMatch")
