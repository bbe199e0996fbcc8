"""An object's bytes as a request's body carries them, proven while they are read.

The last piece is handed out when everything holds that the request said of its body: lengths,
digests, checksums, signatures of chunks. Before that the reader has an object without its end; and
where something does not hold it has an exception. Nothing is kept but one piece.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping

from anabranch.blocks.hashing import Hasher, Hashing
from anabranch.model.object_checksum import ObjectChecksum
from anabranch.s3.errors import S3Error
from anabranch.s3.payloads.checksums import ALGORITHMS, encode
from anabranch.s3.payloads.chunks import ChunkedPayload
from anabranch.s3.payloads.claims import Claims, read_claims
from anabranch.s3.payloads.source import PayloadSource
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.chunk_signatures import ChunkSignatures

__all__ = ["Payload"]

_WRONG_LENGTH = (
    "You did not provide the number of bytes specified by the Content-Length HTTP header"
)


class Payload:
    """The body of one request, to be read once.

    `verified` is the request's signature, None where it proved itself otherwise. With
    `md5_elsewhere`, Content-MD5 is left to `check_md5`, for readers who compute the MD5 anyway.
    The constructor reads nothing and raises S3Error for headers that cannot be right.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        body: Iterable[bytes],
        verified: Verified | None = None,
        *,
        md5_elsewhere: bool = False,
    ) -> None:
        self.claims: Claims = read_claims(headers, None if verified is None else verified.payload)
        self._source = PayloadSource(body)
        self._md5_elsewhere = md5_elsewhere
        self._chunked: ChunkedPayload | None = None
        if self.claims.chunks:
            signatures = _signatures(verified) if self.claims.signed_chunks else None
            self._chunked = ChunkedPayload(self._source, self.claims, signatures)
        self._checksum: tuple[str, bytes] | None = None

    @property
    def length(self) -> int | None:
        """How many bytes the object has, or None where the request did not say."""
        return self.claims.length

    @property
    def checksum(self) -> ObjectChecksum | None:
        """The checksum that came with the body and held, once all is read."""
        if self._checksum is None:
            return None
        return ObjectChecksum(self._checksum[0], encode(self._checksum[1]))

    def __iter__(self) -> Iterator[bytes]:
        """Yields the object's bytes. Raises S3Error: IncompleteBody, BadDigest,
        XAmzContentSHA256Mismatch, SignatureDoesNotMatch, InvalidChunkSizeError,
        MalformedTrailerError, InvalidRequest.
        """
        hashers = self._hashers()
        length = self.claims.length
        size = 0
        held = b""
        pieces = self._source.pieces() if self._chunked is None else self._chunked.pieces()
        with Hashing(hashers.values()) as hashing:
            for piece in pieces:
                size += len(piece)
                if length is not None and size > length:
                    raise S3Error("IncompleteBody", _WRONG_LENGTH)
                hashing.update(piece)
                if held:
                    yield held
                held = piece
        self._check_lengths(size)
        self._check_digests(hashers)
        if held:
            yield held

    def read(self, most: int) -> bytes:
        """Returns the whole object. Raises S3Error as iterating does, and MaxMessageLengthExceeded
        as soon as there are more than `most` bytes.
        """
        if self.claims.length is not None and self.claims.length > most:
            raise S3Error("MaxMessageLengthExceeded")
        pieces: list[bytes] = []
        left = most
        for piece in self:
            left -= len(piece)
            if left < 0:
                raise S3Error("MaxMessageLengthExceeded")
            pieces.append(piece)
        return b"".join(pieces)

    def check_md5(self, hexadecimal: str) -> None:
        """Raises S3Error: BadDigest unless this is the MD5 that the request said, if any."""
        said = self.claims.md5
        if said is not None and said.hex() != hexadecimal:
            raise S3Error(
                "BadDigest", ExpectedDigest=encode(said), CalculatedDigest=_base64(hexadecimal)
            )

    def _hashers(self) -> dict[str, Hasher]:
        """Returns what must be computed, each once, however many sayings it settles."""
        claims = self.claims
        names = {
            "sha256" if claims.sha256 is not None else None,
            "md5" if claims.md5 is not None and not self._md5_elsewhere else None,
            claims.checksum[0] if claims.checksum is not None else None,
            claims.trailer,
        }
        return {name: ALGORITHMS[name].new() for name in names if name is not None}

    def _check_lengths(self, size: int) -> None:
        claims = self.claims
        received = self._source.received
        if claims.length not in {None, size} or claims.wire_length not in {None, received}:
            raise S3Error("IncompleteBody", _WRONG_LENGTH)

    def _check_digests(self, hashers: Mapping[str, Hasher]) -> None:
        claims = self.claims
        digests = {name: hasher.digest() for name, hasher in hashers.items()}
        if claims.sha256 is not None and not hmac.compare_digest(
            claims.sha256, digests["sha256"].hex()
        ):
            raise S3Error(
                "XAmzContentSHA256Mismatch",
                ClientComputedContentSHA256=claims.sha256,
                S3ComputedContentSHA256=digests["sha256"].hex(),
            )
        if "md5" in digests:
            self.check_md5(digests["md5"].hex())
        followed = None if self._chunked is None else self._chunked.checksum
        checksum = followed or claims.checksum
        if checksum is not None:
            name, value = checksum
            if digests[name] != value:
                raise S3Error(
                    "BadDigest",
                    f"The {name.upper()} you specified did not match the calculated checksum.",
                )
            self._checksum = checksum


def _signatures(verified: Verified | None) -> ChunkSignatures:
    if verified is None or verified.seed is None:
        raise S3Error(
            "InvalidRequest", "Signed chunks need a request that is signed by AWS4-HMAC-SHA256"
        )
    return ChunkSignatures(verified.seed)


def _base64(hexadecimal: str) -> str:
    return encode(bytes.fromhex(hexadecimal))
