"""Where a request of S3 goes: which bucket and which key, from its host and its path.

http://server/bucket/key        path style
http://bucket.domain/key        a virtual host, `domain` being one of the server's names

A bucket is a repository and a key is `reference/path`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from anabranch.s3.errors import S3Error
from anabranch.signing.encoding import decoded_text, query_pairs

__all__ = ["Address", "Domains", "address_of", "is_bucket_name", "parameters_of"]

_PORT = re.compile(r":[0-9]*$")
_HOSTS = 256
"""How many hosts are remembered; most clients use few."""
_OF_LIBRARIES = "amz-sdk-invocation-id"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_SIGNED_PARAMETERS = ("AWSAccessKeyId", "X-Amz-Credential")


class Address(NamedTuple):
    """A bucket and a key, either of which may be empty; the key begins with the reference `ref`
    and ends with an object's `path`.
    """

    bucket: str
    key: str
    ref: str
    path: str

    @classmethod
    def of(cls, bucket: str, key: str) -> Address:
        """Returns the address of a key."""
        ref, _, path = key.partition("/")
        return cls(bucket, key, ref, path)


class Domains:
    """The names of the server under which clients put buckets."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in names if name)
        self._known = lru_cache(_HOSTS)(self._bucket)

    def bucket(self, host: str) -> str | None:
        """Returns the bucket that a host names, the empty string for one of the server's names
        itself, or None for any other host.
        """
        return self._known(host) if self._names else None

    def _bucket(self, host: str) -> str | None:
        name = _PORT.sub("", host).lower()
        if name in self._names:
            return ""
        bucket, _, domain = name.partition(".")
        return bucket if bucket and domain in self._names else None

    def takes(self, headers: Mapping[str, str], query: str) -> bool:
        """Returns whether a request is one of S3: by its host, or because it is signed as S3's
        requests are, or sent by one of Amazon's libraries, which then forgot to sign it. `headers`
        have lower-case names.
        """
        if headers.get("authorization", "").startswith(("AWS4", "AWS ")):
            return True
        if "x-amz-signature" in headers or _OF_LIBRARIES in headers or _signed(query):
            return True
        return self.bucket(headers.get("host", "")) is not None


def address_of(path: str, bucket: str) -> Address:
    """Returns where a path, percent-encoded as it was sent, leads; `bucket` is the host's.

    Raises S3Error: InvalidURI for bytes that are not UTF-8.
    """
    decoded = path
    if "%" in path or not path.isascii():
        try:
            decoded = unquote_to_bytes(path.encode("latin-1")).decode()
        except UnicodeDecodeError:
            raise S3Error("InvalidURI") from None
    decoded = decoded.removeprefix("/")
    if bucket:
        return Address.of(bucket, decoded)
    bucket, _, key = decoded.partition("/")
    return Address.of(bucket, key)


def is_bucket_name(name: str) -> bool:
    """Returns whether a bucket can have that name in S3, which allows more than repositories do."""
    return _BUCKET.fullmatch(name) is not None


def parameters_of(query: str) -> dict[str, str]:
    """Returns the parameters of a query, the first of each name. Raises S3Error: InvalidURI for
    bytes that are not UTF-8.
    """
    parameters: dict[str, str] = {}
    try:
        for name, _, value in query_pairs(query):
            decoded = decoded_text(value).encode("latin-1").decode()
            parameters.setdefault(decoded_text(name), decoded)
    except UnicodeDecodeError:
        raise S3Error("InvalidURI") from None
    return parameters


def _signed(query: str) -> bool:
    if "AWSAccessKeyId" not in query and "X-Amz-Credential" not in query:
        return False
    pairs = query_pairs(query)
    return any(value and decoded_text(name) in _SIGNED_PARAMETERS for name, _, value in pairs)
