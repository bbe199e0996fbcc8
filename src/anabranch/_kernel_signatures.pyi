"""A part of the stubs of `_kernel`, not a module: signatures of AWS, version 4."""

from collections.abc import Iterable
from typing import TypeAlias

def joined_headers(pairs: Iterable[tuple[bytes | str, bytes | str]]) -> dict[str, str]:
    """Returns headers by lower-case name, with a character for each byte (Latin-1). The values of a
    repeated name are trimmed and joined by commas, in order. Text that is not Latin-1 is encoded as
    UTF-8.
    """

SignedHead: TypeAlias = tuple[str, str, str, dict[str, str], str, str]
"""(method, path, query, headers, signed headers, payload) of a request, which a signature covers.
The signed headers are `name;name`; all text is Latin-1, a character for each byte."""

def canonical_request(head: SignedHead, *, as_sent: bool = False) -> str:
    """Returns the canonical form of a request: path and query decoded and encoded again, parameters
    sorted without X-Amz-Signature, spaces in headers folded. With `as_sent`, parameters are sorted
    and everything else is unchanged. Raises ValueError for text that is not Latin-1.

    [AWS, "Signature Version 4 signing process for Amazon S3"]
    """

def signature_v4(key: bytes, timestamp: str, scope: str, canonical: str) -> str:
    """Returns the signature of a canonical request in hexadecimal, with the key of 32 bytes derived
    for the scope `YYYYMMDD/region/service/aws4_request`. Raises ValueError for another length.
    """

def is_signature_v4(
    signature: str,
    key: bytes,
    timestamp: str,
    scope: str,
    head: SignedHead,
    *,
    as_sent: bool = False,
) -> bool:
    """Returns whether `signature` is that of the canonical form of a request, compared in constant
    time. Raises ValueError as `canonical_request` and `signature_v4` do.
    """
