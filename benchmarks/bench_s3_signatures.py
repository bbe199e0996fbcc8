"""Benchmarks the verification of S3 requests: signatures in µs of CPU, bodies in GB/s of CPU.

The requests are those that boto3 sends for GET and PUT. Signing keys are cached, as for all
requests of a day except the first.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from anabranch.model.secret import Secret
from anabranch.s3.payloads.checksums import ALGORITHMS, encode
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.signatures.verified import Verified
from anabranch.s3.signatures.verifier import Verifier
from anabranch.signing.chunk_signatures import ChunkSignatures
from anabranch.signing.request import Request
from anabranch.signing.sign import SigningCredentials, presign, sign_request

SIGNER = SigningCredentials(
    "AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), "x"
)
NOW = 1_700_000_000
URL = "http://127.0.0.1:8000/repo/main/tables/flights/month%3D2024-01/part-00000.parquet"
HEADERS = {
    "User-Agent": "Boto3/1.44.5 md/Botocore#1.44.5",
    "Content-Type": "application/octet-stream",
    "Content-Length": "1024",
    "Accept-Encoding": "identity",
    "amz-sdk-invocation-id": "0a6d28f6-6d1a-4a3f-9c38-0a3a0a0a0a0a",
    "amz-sdk-request": "attempt=1",
    "x-amz-checksum-crc32": "AAAAAA==",
    "x-amz-sdk-checksum-algorithm": "CRC32",
}
BODY = random.Random(0).randbytes(16 << 20)
PIECE = 64 << 10


def cost(call: Callable[[], object], repeat: int) -> float:
    best = float("inf")
    for _ in range(9):
        begin = time.process_time()
        for _ in range(repeat):
            call()
        best = min(best, time.process_time() - begin)
    return best / repeat


def received(method: str, url: str, headers: Mapping[str, str]) -> Request:
    parts = urlsplit(url)
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return Request.from_wire(method, parts.path.encode(), parts.query.encode(), raw)


def signatures() -> None:
    verifier = Verifier({SIGNER.access_key_id: SIGNER.secret}.get, lambda: NOW)
    body = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    put = sign_request(SIGNER, "PUT", URL, HEADERS, time=NOW, payload=body).headers
    get = sign_request(SIGNER, "GET", URL, {}, time=NOW, payload=body).headers
    presigned = presign(SIGNER, "GET", URL, time=NOW, expires=3600)
    requests = {
        "GET": received("GET", URL, get),
        "PUT": received("PUT", URL, put),
        "GET by a URL": received("GET", presigned, {"Host": "127.0.0.1:8000"}),
    }
    for name, request in requests.items():
        microseconds = cost(partial(verifier.verify, request), 2000) * 1e6
        print(f"{name:<28} {microseconds:8.1f} µs")
    microseconds = cost(partial(received, "PUT", URL, put), 2000) * 1e6
    print(f"{'headers of PUT gathered':<28} {microseconds:8.1f} µs")


def signed_chunks(size: int) -> tuple[bytes, Verified]:
    word = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    seed = sign_request(SIGNER, "PUT", URL, {}, time=NOW, payload=word).seed
    chain = ChunkSignatures(seed)
    wire = bytearray()
    for at in range(0, len(BODY) + size, size):
        data = BODY[at : at + size]
        signature = chain.next(hashlib.sha256(data).hexdigest())
        wire += b"%x;chunk-signature=%s\r\n%s\r\n" % (len(data), signature.encode(), data)
    return bytes(wire), Verified(access_key_id="AKIA", payload=word, seed=seed)


def unsigned_chunks(name: str) -> bytes:
    hasher = ALGORITHMS[name].new()
    hasher.update(BODY)
    wire = b"%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)
    return wire + f"x-amz-checksum-{name}:{encode(hasher.digest())}\r\n\r\n".encode()


def bodies() -> None:
    trailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
    decoded = {"x-amz-decoded-content-length": str(len(BODY))}
    cases: dict[str, tuple[dict[str, str], bytes, Verified | None]] = {
        "as it is": ({}, BODY, None),
        "of a SHA-256": ({"x-amz-content-sha256": hashlib.sha256(BODY).hexdigest()}, BODY, None),
        "signed chunks of 64 KiB": (decoded, *signed_chunks(64 << 10)),
        "signed chunks of 1 MiB": (decoded, *signed_chunks(1 << 20)),
    }
    for name in ("crc32", "crc32c", "crc64nvme", "sha1"):
        headers = {
            **decoded,
            "x-amz-content-sha256": trailer,
            "x-amz-trailer": f"x-amz-checksum-{name}",
        }
        cases[f"chunks, then {name}"] = (headers, unsigned_chunks(name), None)
    for name, (headers, wire, verified) in cases.items():
        pieces = [wire[at : at + PIECE] for at in range(0, len(wire), PIECE)]

        def read(
            headers: dict[str, str] = headers,
            pieces: list[bytes] = pieces,
            verified: Verified | None = verified,
        ) -> None:
            for _ in Payload(headers, pieces, verified):
                pass

        print(f"{name:<28} {len(BODY) / cost(read, 1) / 1e9:8.2f} GB/s")


if __name__ == "__main__":
    signatures()
    bodies()
