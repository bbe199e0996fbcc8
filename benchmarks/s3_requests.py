"""Signed requests of S3, as bytes made beforehand."""

from __future__ import annotations

import hashlib
import time
import zlib
from base64 import b64encode

from dataset import REPOSITORY

from anabranch.model.secret import Secret
from anabranch.signing.canonical_v4 import UNSIGNED
from anabranch.signing.sign import SigningCredentials, sign_request

__all__ = ["S3Requests"]


class S3Requests:
    """Makes requests of the server at `url`, signed with version 4 in the name of `auth`."""

    def __init__(self, url: str, auth: tuple[str, str]) -> None:
        self._bucket = f"{url}/{REPOSITORY}"
        self._signer = SigningCredentials(auth[0], Secret(auth[1]), "us-east-1")

    def request(
        self,
        method: str,
        key: str = "",
        body: bytes = b"",
        *,
        query: str = "",
        signed_body: bool = True,
        checksum: bool = False,
        part: str = "",
    ) -> bytes:
        """Returns a request; with `signed_body` the body's SHA-256 is part of its signature, with
        `checksum` its CRC32 goes with it, or is asked for, as boto3 does. `part` is the range of
        bytes to read, `0-9`.
        """
        path = f"{self._bucket}/{key}?{query}".rstrip("?")
        headers = {"Content-Length": str(len(body))} if method == "PUT" else {}
        if checksum and method == "PUT":
            headers["x-amz-sdk-checksum-algorithm"] = "CRC32"
            headers["x-amz-checksum-crc32"] = b64encode(zlib.crc32(body).to_bytes(4)).decode()
        elif checksum:
            headers["x-amz-checksum-mode"] = "ENABLED"
        if part:
            headers["Range"] = f"bytes={part}"
        payload = hashlib.sha256(body).hexdigest() if signed_body else UNSIGNED
        signed = sign_request(
            self._signer, method, path, headers, time=time.time(), payload=payload
        ).headers
        target = path[path.index("/", len("http://")) :]
        lines = [f"{method} {target} HTTP/1.1", *(f"{n}: {v}" for n, v in signed.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
