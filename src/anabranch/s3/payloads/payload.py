"""The object's bytes in a request's body, verified while they are read.

The last piece is yielded only after everything that the request declares about its body was
verified: lengths, digests, checksums, chunk signatures. Until then the reader does not have the end
of the object, and a mismatch raises an exception instead. Only one piece is held in memory.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping

from anabranch.blocks.hashing import BackgroundHasher, Hasher
from anabranch.model.uploads.object_checksum import ObjectChecksum
from anabranch.s3.payloads.aws_chunked import ChunkedPayload
from anabranch.s3.payloads.body_headers import BodyDeclaration, parse_body_headers
from anabranch.s3.payloads.checksums import ALGORITHMS, encode
from anabranch.s3.payloads.source import PayloadSource
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.chunk_signatures import ChunkSignatures

__all__ = ["Payload"]

_WRONG_LENGTH = (
    "You did not provide the number of bytes specified by the Content-Length HTTP header"
)


class Payload:
    """The body of one request, to be read once.

    `verified` is the request's signature, None for other kinds of authentication. With `defer_md5`,
    the caller verifies Content-MD5 by `check_md5`, because it computes the MD5 anyway. The
    constructor reads nothing and raises S3Error for invalid headers.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        body: Iterable[bytes],
        verified: Verified | None = None,
        *,
        defer_md5: bool = False,
    ) -> None:
        self.declaration: BodyDeclaration = parse_body_headers(
            headers, None if verified is None else verified.payload
        )
        self._source = PayloadSource(body)
        self._defer_md5 = defer_md5
        self._chunked: ChunkedPayload | None = None
        if self.declaration.chunks:
            signatures = _chunk_signatures(verified) if self.declaration.signed_chunks else None
            self._chunked = ChunkedPayload(self._source, self.declaration, signatures)
        self._checksum: tuple[str, bytes] | None = None

    @property
    def length(self) -> int | None:
        """The object's size in bytes, None if the request does not declare it."""
        return self.declaration.length

    @property
    def checksum(self) -> ObjectChecksum | None:
        """The verified checksum that was sent with the body, None until all is read."""
        if self._checksum is None:
            return None
        return ObjectChecksum(self._checksum[0], encode(self._checksum[1]))

    def __iter__(self) -> Iterator[bytes]:
        """Yields the object's bytes. Raises S3Error: IncompleteBody, BadDigest,
        XAmzContentSHA256Mismatch, SignatureDoesNotMatch, InvalidChunkSizeError,
        MalformedTrailerError, InvalidRequest.
        """
        hashers = self._hashers()
        length = self.declaration.length
        size = 0
        withheld = b""
        pieces = self._source.pieces() if self._chunked is None else self._chunked.pieces()
        with BackgroundHasher(hashers.values()) as hashing:
            for piece in pieces:
                size += len(piece)
                if length is not None and size > length:
                    raise S3Error("IncompleteBody", _WRONG_LENGTH)
                hashing.update(piece)
                if withheld:
                    yield withheld
                withheld = piece
        self._check_lengths(size)
        self._check_digests(hashers)
        if withheld:
            yield withheld

    def read(self, max_bytes: int) -> bytes:
        """Returns the whole object. Raises S3Error as iterating does, and MaxMessageLengthExceeded
        as soon as there are more than `max_bytes`.
        """
        if self.declaration.length is not None and self.declaration.length > max_bytes:
            raise S3Error("MaxMessageLengthExceeded")
        pieces: list[bytes] = []
        remaining = max_bytes
        for piece in self:
            remaining -= len(piece)
            if remaining < 0:
                raise S3Error("MaxMessageLengthExceeded")
            pieces.append(piece)
        return b"".join(pieces)

    def check_md5(self, hexadecimal: str) -> None:
        """Raises S3Error: BadDigest if the request declares another MD5 than this one."""
        expected = self.declaration.md5
        if expected is not None and expected.hex() != hexadecimal:
            raise S3Error(
                "BadDigest",
                ExpectedDigest=encode(expected),
                CalculatedDigest=_hex_to_base64(hexadecimal),
            )

    def _hashers(self) -> dict[str, Hasher]:
        """Returns one hasher for each algorithm that the declared digests need."""
        declaration = self.declaration
        names = {
            "sha256" if declaration.sha256 is not None else None,
            "md5" if declaration.md5 is not None and not self._defer_md5 else None,
            declaration.checksum[0] if declaration.checksum is not None else None,
            declaration.trailer,
        }
        return {name: ALGORITHMS[name].new() for name in names if name is not None}

    def _check_lengths(self, size: int) -> None:
        declaration = self.declaration
        received = self._source.received
        if declaration.length not in {None, size} or declaration.wire_length not in {
            None,
            received,
        }:
            raise S3Error("IncompleteBody", _WRONG_LENGTH)

    def _check_digests(self, hashers: Mapping[str, Hasher]) -> None:
        declaration = self.declaration
        digests = {name: hasher.digest() for name, hasher in hashers.items()}
        if declaration.sha256 is not None and not hmac.compare_digest(
            declaration.sha256, digests["sha256"].hex()
        ):
            raise S3Error(
                "XAmzContentSHA256Mismatch",
                ClientComputedContentSHA256=declaration.sha256,
                S3ComputedContentSHA256=digests["sha256"].hex(),
            )
        if "md5" in digests:
            self.check_md5(digests["md5"].hex())
        trailing = None if self._chunked is None else self._chunked.checksum
        checksum = trailing or declaration.checksum
        if checksum is not None:
            name, value = checksum
            if digests[name] != value:
                raise S3Error(
                    "BadDigest",
                    f"The {name.upper()} you specified did not match the calculated checksum.",
                )
            self._checksum = checksum


def _chunk_signatures(verified: Verified | None) -> ChunkSignatures:
    if verified is None or verified.seed is None:
        raise S3Error(
            "InvalidRequest", "Signed chunks need a request that is signed by AWS4-HMAC-SHA256"
        )
    return ChunkSignatures(verified.seed)


def _hex_to_base64(hexadecimal: str) -> str:
    return encode(bytes.fromhex(hexadecimal))
