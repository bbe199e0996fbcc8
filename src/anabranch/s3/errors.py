"""Errors as S3 names them: a code, a status and a message.

The codes, statuses and messages are those of Amazon's S3, on which clients decide whether to try
again, to correct their clock, or to give up.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from anabranch.errors import AnabranchError

__all__ = ["CODES", "ErrorCode", "S3Error"]


class ErrorCode(NamedTuple):
    """What a code stands for: the HTTP status, and the message where there is none better."""

    status: int
    message: str


CODES: Mapping[str, ErrorCode] = MappingProxyType(
    {
        "AccessDenied": ErrorCode(403, "Access Denied"),
        "AuthorizationHeaderMalformed": ErrorCode(400, "The authorization header is malformed."),
        "AuthorizationQueryParametersError": ErrorCode(
            400,
            "Query-string authentication version 4 requires the X-Amz-Algorithm, "
            "X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and "
            "X-Amz-Expires parameters.",
        ),
        "BadDigest": ErrorCode(
            400, "The Content-MD5 you specified did not match what we received."
        ),
        "IncompleteBody": ErrorCode(400, "The request body terminated unexpectedly"),
        "InvalidAccessKeyId": ErrorCode(
            403, "The AWS Access Key Id you provided does not exist in our records."
        ),
        "InvalidArgument": ErrorCode(400, "Invalid Argument"),
        "InvalidChunkSizeError": ErrorCode(400, "The size of a chunk is not valid"),
        "InvalidDigest": ErrorCode(400, "The Content-MD5 you specified was invalid."),
        "InvalidRequest": ErrorCode(400, "Invalid Request"),
        "MalformedTrailerError": ErrorCode(
            400,
            "The request contained trailing data that was not well-formed or did not conform to "
            "our published schema.",
        ),
        "MaxMessageLengthExceeded": ErrorCode(400, "Your request was too big."),
        "MissingContentLength": ErrorCode(411, "You must provide the Content-Length HTTP header."),
        "RequestTimeTooSkewed": ErrorCode(
            403, "The difference between the request time and the current time is too large."
        ),
        "SignatureDoesNotMatch": ErrorCode(
            403,
            "The request signature we calculated does not match the signature you provided. "
            "Check your key and signing method.",
        ),
        "XAmzContentSHA256Mismatch": ErrorCode(
            400, "The provided 'x-amz-content-sha256' header does not match what was computed."
        ),
    }
)


class S3Error(AnabranchError):
    """An error with its S3 code, which is one of CODES. `details` are further elements of the
    answer, by their names, such as `StringToSign`; they may hold any character.
    """

    def __init__(self, code: str, message: str | None = None, **details: str) -> None:
        status, usual = CODES[code]
        super().__init__(usual if message is None else message, kind=code)
        self.code = code
        self.status = status
        self.details: Mapping[str, str] = details
