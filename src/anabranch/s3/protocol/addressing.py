"""The bucket and the key of an S3 request, from its host and its path.

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

from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.encoding import decode_text, query_pairs

__all__ = ["Address", "Domains", "is_bucket_name", "parse_address", "parse_parameters"]

_PORT = re.compile(r":[0-9]*$")
_MAX_CACHED_HOSTS = 256
"""The number of hosts whose bucket is cached; most clients use few hosts."""
_SDK_HEADER = "amz-sdk-invocation-id"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_SIGNED_PARAMETERS = ("AWSAccessKeyId", "X-Amz-Credential")


class Address(NamedTuple):
    """A bucket and a key, either of which may be empty. The key consists of the reference `ref`, a
    slash and the object's `path`.
    """

    bucket: str
    key: str
    ref: str
    path: str

    @classmethod
    def of(cls, bucket: str, key: str) -> Address:
        """Returns the address of a key in a bucket."""
        ref, _, path = key.partition("/")
        return cls(bucket, key, ref, path)


class Domains:
    """The server's domain names, of which buckets are subdomains (virtual-hosted addressing)."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in names if name)
        self._cached_bucket = lru_cache(_MAX_CACHED_HOSTS)(self._bucket)

    def bucket(self, host: str) -> str | None:
        """Returns the bucket that a host names: an empty string if the host is one of the server's
        names, None for other hosts.
        """
        return self._cached_bucket(host) if self._names else None

    def _bucket(self, host: str) -> str | None:
        name = _PORT.sub("", host).lower()
        if name in self._names:
            return ""
        bucket, _, domain = name.partition(".")
        return bucket if bucket and domain in self._names else None

    def matches(self, headers: Mapping[str, str], query: str) -> bool:
        """Returns whether a request is an S3 request: by its host, by an AWS signature, or because
        an Amazon library sent it, in this case unsigned. `headers` have lower-case names.
        """
        if headers.get("authorization", "").startswith(("AWS4", "AWS ")):
            return True
        if (
            "x-amz-signature" in headers
            or _SDK_HEADER in headers
            or _has_signature_parameter(query)
        ):
            return True
        return self.bucket(headers.get("host", "")) is not None


def parse_address(path: str, bucket: str) -> Address:
    """Returns the address that a percent-encoded path names; `bucket` is the host's, empty if the
    path begins with the bucket.

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
    """Returns whether S3 allows a bucket name; it allows more names than repositories may have."""
    return _BUCKET.fullmatch(name) is not None


def parse_parameters(query: str) -> dict[str, str]:
    """Returns the parameters of a query, with the first value of each name. Raises S3Error:
    InvalidURI for bytes that are not UTF-8.
    """
    parameters: dict[str, str] = {}
    try:
        for name, _, value in query_pairs(query):
            decoded = decode_text(value).encode("latin-1").decode()
            parameters.setdefault(decode_text(name), decoded)
    except UnicodeDecodeError:
        raise S3Error("InvalidURI") from None
    return parameters


def _has_signature_parameter(query: str) -> bool:
    if "AWSAccessKeyId" not in query and "X-Amz-Credential" not in query:
        return False
    pairs = query_pairs(query)
    return any(value and decode_text(name) in _SIGNED_PARAMETERS for name, _, value in pairs)
