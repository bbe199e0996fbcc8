"""Uploads in every form in which a body may travel to S3, ready to be taken apart or damaged."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from anabranch.model.secret import Secret
from anabranch.s3.payloads.checksums import ALGORITHMS, encode
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.chunk_signatures import ChunkSeed, ChunkSignatures
from anabranch.signing.credential_scope import Scope
from anabranch.signing.signing_keys import derive

__all__ = [
    "SIGNED",
    "SIGNED_TRAILER",
    "UNSIGNED_TRAILER",
    "Upload",
    "checksum",
    "plain",
    "seed",
    "signed_chunks",
    "unsigned_chunks",
    "uploads",
]

SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
SIGNED_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
UNSIGNED_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"


class Upload(NamedTuple):
    """A body as it travels, with the headers that describe it and the signature, if any."""

    headers: dict[str, str]
    wire: bytes
    verified: Verified | None = None

    def payload(self, pieces: Iterable[bytes] | None = None, *, defer_md5: bool = False) -> Payload:
        """Returns the payload of the body, which comes in `pieces` or as a whole."""
        body = [self.wire] if pieces is None else pieces
        return Payload(self.headers, body, self.verified, defer_md5=defer_md5)

    def read(self, pieces: Iterable[bytes] | None = None) -> bytes:
        """Returns the object; raises S3Error."""
        return b"".join(self.payload(pieces))

    def without(self, header: str) -> Upload:
        """Returns the same without a header."""
        headers = {name: text for name, text in self.headers.items() if name != header}
        return self._replace(headers=headers)


def checksum(name: str, body: bytes) -> str:
    """Returns a checksum as it travels."""
    hasher = ALGORITHMS[name].new()
    hasher.update(body)
    return encode(hasher.digest())


def seed(signature: str = "5" * 64) -> ChunkSeed:
    """Returns what signatures of chunks go on from."""
    scope = Scope("20240229", "us-east-1")
    key = derive(Secret("secret"), scope)
    return ChunkSeed(key, "20240229T120000Z", scope.text, signature)


def plain(body: bytes, **headers: str) -> Upload:
    """Returns a body as it is; underscores in the names of headers stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Upload({"content-length": str(len(body)), **named}, body)


def signed_chunks(body: bytes, size: int, trailer: str | None = None) -> Upload:
    """Returns a body in signed chunks of `size` bytes, with a checksum after it if named."""
    chain = ChunkSignatures(seed())
    wire = bytearray()
    for at in range(0, len(body) + size, size):
        data = body[at : at + size]
        signature = chain.next(hashlib.sha256(data).hexdigest())
        wire += b"%x;chunk-signature=%s\r\n" % (len(data), signature.encode())
        if not data:
            break
        wire += data + b"\r\n"
    headers = {"x-amz-decoded-content-length": str(len(body))}
    if trailer is not None:
        line = f"x-amz-checksum-{trailer}:{checksum(trailer, body)}"
        signature = chain.trailer(f"{line}\n".encode())
        wire += f"{line}\r\nx-amz-trailer-signature:{signature}\r\n".encode()
        headers["x-amz-trailer"] = f"x-amz-checksum-{trailer}"
    wire += b"\r\n"
    headers["content-length"] = str(len(wire))
    word = SIGNED if trailer is None else SIGNED_TRAILER
    verified = Verified(access_key_id="AKIA", payload=word, seed=seed())
    return Upload(headers, bytes(wire), verified)


def unsigned_chunks(body: bytes, size: int, trailer: str) -> Upload:
    """Returns a body in chunks of `size` bytes with a checksum after it; of unknown length."""
    wire = bytearray()
    for at in range(0, len(body), size):
        data = body[at : at + size]
        wire += b"%x\r\n%s\r\n" % (len(data), data)
    wire += f"0\r\nx-amz-checksum-{trailer}:{checksum(trailer, body)}\r\n\r\n".encode()
    headers = {
        "content-encoding": "aws-chunked",
        "x-amz-decoded-content-length": str(len(body)),
        "x-amz-trailer": f"x-amz-checksum-{trailer}",
    }
    verified = Verified(access_key_id="AKIA", payload=UNSIGNED_TRAILER, seed=seed())
    return Upload(headers, bytes(wire), verified)


def uploads(body: bytes, size: int, algorithm: str) -> Iterator[tuple[str, Upload]]:
    """Yields a body in every form that proves what it is, each with its name."""
    md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
    headers = {f"x_amz_checksum_{algorithm}": checksum(algorithm, body)}
    yield "digest", plain(body, x_amz_content_sha256=hashlib.sha256(body).hexdigest())
    yield "md5", plain(body, content_md5=md5)
    yield "checksum", plain(body, **headers)
    yield "signed", signed_chunks(body, size)
    yield "signed trailer", signed_chunks(body, size, algorithm)
    yield "unsigned trailer", unsigned_chunks(body, size, algorithm)
