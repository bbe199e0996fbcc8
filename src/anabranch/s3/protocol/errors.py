"""S3 errors: a code, a status and a message.

The codes, statuses and messages are those of Amazon S3. Clients use them to decide whether to
retry, to correct their clock, or to give up.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from anabranch.errors import AnabranchError

__all__ = ["CODES", "ErrorCode", "S3Error"]


class ErrorCode(NamedTuple):
    """The HTTP status and the default message of a code."""

    status: int
    message: str


CODES: Mapping[str, ErrorCode] = MappingProxyType(
    {
        "AccessDenied": ErrorCode(403, "Access Denied"),
        "AccessForbidden": ErrorCode(403, "Access Forbidden"),
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
        "EntityTooLarge": ErrorCode(400, "Your proposed upload exceeds the maximum allowed size"),
        "EntityTooSmall": ErrorCode(
            400, "Your proposed upload is smaller than the minimum allowed object size."
        ),
        "ErrNoSuchBucketPossibleAPIEndpoint": ErrorCode(
            404,
            'Repository "api" not found; this can happen if your endpoint URL mistakenly ends in '
            '"/api/v1".',
        ),
        # two codes that S3 does not have, for lost bytes and damaged metadata
        "DataDamaged": ErrorCode(409, "Stored data is damaged."),
        "Gone": ErrorCode(410, "The data of the object is gone."),
        "IncompleteBody": ErrorCode(400, "The request body terminated unexpectedly"),
        "InvalidAccessKeyId": ErrorCode(
            403, "The AWS Access Key Id you provided does not exist in our records."
        ),
        "InvalidArgument": ErrorCode(400, "Invalid Argument"),
        "InvalidChunkSizeError": ErrorCode(400, "The size of a chunk is not valid"),
        "InvalidDigest": ErrorCode(400, "The Content-MD5 you specified was invalid."),
        "InvalidRequest": ErrorCode(400, "Invalid Request"),
        "MalformedPOSTRequest": ErrorCode(
            400, "The body of your POST request is not well-formed multipart/form-data."
        ),
        "MalformedTrailerError": ErrorCode(
            400,
            "The request contained trailing data that was not well-formed or did not conform to "
            "our published schema.",
        ),
        "MaxPostPreDataLengthExceeded": ErrorCode(
            400, "Your POST request fields preceding the upload file were too large."
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
        "BadRequest": ErrorCode(400, "Bad Request"),
        "BucketAlreadyExists": ErrorCode(
            409,
            "The requested bucket name is not available. Please select a different name and "
            "try again.",
        ),
        "InternalError": ErrorCode(500, "We encountered an internal error. Please try again."),
        "InvalidBucketName": ErrorCode(400, "The specified bucket is not valid."),
        "InvalidObjectState": ErrorCode(
            403, "The operation is not valid for the object's storage class"
        ),
        "InvalidPart": ErrorCode(
            400,
            "One or more of the specified parts could not be found. The part might not have been "
            "uploaded, or the specified entity tag might not have matched the part's entity tag.",
        ),
        "InvalidPartOrder": ErrorCode(
            400,
            "The list of parts was not in ascending order. Parts must be ordered by part number.",
        ),
        "InvalidPolicyDocument": ErrorCode(
            400,
            "The content of the form does not meet the conditions specified in the policy "
            "document.",
        ),
        "InvalidRange": ErrorCode(416, "The requested range is not satisfiable"),
        "InvalidTag": ErrorCode(400, "The tag provided was not a valid tag."),
        "InvalidURI": ErrorCode(400, "Couldn't parse the specified URI."),
        "KeyTooLongError": ErrorCode(400, "Your key is too long"),
        "MalformedXML": ErrorCode(
            400,
            "The XML you provided was not well-formed or did not validate against our "
            "published schema",
        ),
        "MetadataTooLarge": ErrorCode(
            400, "Your metadata headers exceed the maximum allowed metadata size"
        ),
        "MethodNotAllowed": ErrorCode(
            405, "The specified method is not allowed against this resource."
        ),
        "NoSuchBucket": ErrorCode(404, "The specified bucket does not exist"),
        "NoSuchBucketPolicy": ErrorCode(404, "The bucket policy does not exist"),
        "NoSuchCORSConfiguration": ErrorCode(404, "The CORS configuration does not exist"),
        "NoSuchKey": ErrorCode(404, "The specified key does not exist."),
        "NoSuchLifecycleConfiguration": ErrorCode(
            404, "The lifecycle configuration does not exist"
        ),
        "NoSuchObjectLockConfiguration": ErrorCode(
            404, "The specified object does not have a ObjectLock configuration"
        ),
        "NoSuchPublicAccessBlockConfiguration": ErrorCode(
            404, "The public access block configuration was not found"
        ),
        "NoSuchTagSet": ErrorCode(404, "The TagSet does not exist"),
        "NoSuchUpload": ErrorCode(
            404,
            "The specified upload does not exist. The upload ID may be invalid, or the upload may "
            "have been aborted or completed.",
        ),
        "NoSuchVersion": ErrorCode(404, "The specified version does not exist."),
        "NoSuchWebsiteConfiguration": ErrorCode(
            404, "The specified bucket does not have a website configuration"
        ),
        "NotImplemented": ErrorCode(
            501, "A header you provided implies functionality that is not implemented"
        ),
        "ObjectLockConfigurationNotFoundError": ErrorCode(
            404, "Object Lock configuration does not exist for this bucket"
        ),
        "OperationAborted": ErrorCode(
            409,
            "A conflicting conditional operation is currently in progress against this "
            "resource. Please try again.",
        ),
        "OwnershipControlsNotFoundError": ErrorCode(
            404, "The bucket ownership controls were not found"
        ),
        "PreconditionFailed": ErrorCode(
            412, "At least one of the pre-conditions you specified did not hold"
        ),
        "ReplicationConfigurationNotFoundError": ErrorCode(
            404, "The replication configuration was not found"
        ),
        "RequestHeaderSectionTooLarge": ErrorCode(
            400, "Your request header section exceeds the maximum allowed size."
        ),
        "RequestTimeout": ErrorCode(
            400,
            "Your socket connection to the server was not read from or written to within the "
            "timeout period.",
        ),
        "ServerSideEncryptionConfigurationNotFoundError": ErrorCode(
            404, "The server side encryption configuration was not found"
        ),
        "SlowDown": ErrorCode(503, "Please reduce your request rate."),
    }
)


class S3Error(AnabranchError):
    """An error with its S3 code, one of CODES. `details` are further elements of the response by
    name, such as `StringToSign`; their values may contain any character.
    """

    def __init__(self, code: str, message: str | None = None, **details: str) -> None:
        status, standard_message = CODES[code]
        super().__init__(standard_message if message is None else message, kind=code)
        self.code = code
        self.status = status
        self.details: Mapping[str, str] = details
