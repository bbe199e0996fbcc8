"""Sub-resources with a fixed response, equal for all repositories and objects.

Clients read them to find the capabilities of a bucket. S3 reports each absent configuration with an
error code of its own. Writing a configuration fails with NotImplemented, so that it cannot be
mistaken for a success.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.policies.permissions import Action
from anabranch.http.response import Response
from anabranch.s3.call import Call
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.resources import on_bucket, on_object
from anabranch.s3.protocol.cors import MAX_AGE_SECONDS, METHODS
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import document, element, leaf

__all__ = ["NAMES", "OPERATIONS"]

_INSTANCE = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"'
_GRANT = (
    f"<Grant><Grantee {_INSTANCE}>{leaf('ID', 'anabranch')}{leaf('DisplayName', 'anabranch')}"
    f"</Grantee>{leaf('Permission', 'FULL_CONTROL')}</Grant>"
)
_ACL = document("AccessControlPolicy", OWNER, element("AccessControlList", _GRANT))

_STATIC_DOCUMENTS = {
    "accelerate": document("AccelerateConfiguration"),
    "acl": _ACL,
    "logging": document("BucketLoggingStatus"),
    "notification": document("NotificationConfiguration"),
    "requestPayment": document("RequestPaymentConfiguration", leaf("Payer", "BucketOwner")),
    "versioning": document("VersioningConfiguration"),
}
"""The documents that every bucket has, by query parameter."""

_ABSENT_ERRORS = {
    "encryption": "ServerSideEncryptionConfigurationNotFoundError",
    "lifecycle": "NoSuchLifecycleConfiguration",
    "object-lock": "ObjectLockConfigurationNotFoundError",
    "ownershipControls": "OwnershipControlsNotFoundError",
    "policy": "NoSuchBucketPolicy",
    "policyStatus": "NoSuchBucketPolicy",
    "publicAccessBlock": "NoSuchPublicAccessBlockConfiguration",
    "replication": "ReplicationConfigurationNotFoundError",
    "tagging": "NoSuchTagSet",
    "website": "NoSuchWebsiteConfiguration",
}
"""The error codes of configurations that no bucket has, by query parameter."""

_OTHERS = """
    analytics attributes cors delete intelligent-tiering inventory legal-hold list-type location
    metadataTable metrics restore retention select session torrent uploadId uploads versions
"""
NAMES = frozenset(_OTHERS.split()).union(_STATIC_DOCUMENTS, _ABSENT_ERRORS)
"""All sub-resources of S3 except partNumber and versionId, which only select a part or version."""


def get_location(call: Call) -> Response:
    """Returns the region, empty for us-east-1 as in S3."""
    call.services.catalog.repositories.get(call.address.bucket)
    region = call.services.region
    return Response(200, document("LocationConstraint", "" if region == "us-east-1" else region))


def get_cors(call: Call) -> Response:
    """Returns the allowed origins of web pages, which the settings define for all buckets."""
    call.services.catalog.repositories.get(call.address.bucket)
    origins = call.services.cors
    if not origins:
        raise S3Error("NoSuchCORSConfiguration")
    rule = element(
        "CORSRule",
        *(leaf("AllowedOrigin", origin) for origin in origins),
        *(leaf("AllowedMethod", method) for method in METHODS),
        leaf("AllowedHeader", "*"),
        leaf("ExposeHeader", "*"),
        leaf("MaxAgeSeconds", str(MAX_AGE_SECONDS)),
    )
    return Response(200, document("CORSConfiguration", rule))


def get_object_acl(call: Call) -> Response:
    """Returns the ACL, equal for all objects. Raises NotFound for a missing object."""
    address = call.address
    call.services.catalog.objects.stat(address.bucket, address.ref, address.path)
    return Response(200, _ACL)


def get_object_lock(call: Call) -> Response:
    """Raises S3Error: NoSuchObjectLockConfiguration for every existing object."""
    address = call.address
    call.services.catalog.objects.stat(address.bucket, address.ref, address.path)
    raise S3Error("NoSuchObjectLockConfiguration")


def restore_object(call: Call) -> Response:
    """Raises S3Error: InvalidObjectState for every existing object: none needs a restore."""
    address = call.address
    call.services.catalog.objects.stat(address.bucket, address.ref, address.path)
    raise S3Error(
        "InvalidObjectState", "Restore is not allowed for the object's current storage class"
    )


def select_object_content(_: Call) -> Response:
    """Raises S3Error: MethodNotAllowed, as S3 does for accounts that did not use it before 2024."""
    raise S3Error("MethodNotAllowed", "Queries on objects are not supported: read the object.")


def _static_handler(body: bytes) -> Callable[[Call], Response]:
    def handler(call: Call) -> Response:
        call.services.catalog.repositories.get(call.address.bucket)
        return Response(200, body)

    return handler


def _error_handler(code: str) -> Callable[[Call], Response]:
    def handler(call: Call) -> Response:
        call.services.catalog.repositories.get(call.address.bucket)
        raise S3Error(code)

    return handler


def _bucket_operation(name: str, handler: Callable[[Call], Response]) -> Operation:
    return Operation(
        id=f"GetBucket {name}",
        method="GET",
        level=Level.BUCKET,
        on=name,
        permission=(Need(Action.READ_REPOSITORY, on_bucket),),
        handler=handler,
    )


def _object_operation(name: str, handler: Callable[[Call], Response]) -> Operation:
    return Operation(
        id=f"GetObject {name}",
        method="GET",
        level=Level.OBJECT,
        on=name,
        permission=(Need(Action.READ_OBJECT, on_object),),
        handler=handler,
    )


OPERATIONS = (
    _bucket_operation("location", get_location),
    _bucket_operation("cors", get_cors),
    *(_bucket_operation(name, _static_handler(body)) for name, body in _STATIC_DOCUMENTS.items()),
    *(_bucket_operation(name, _error_handler(code)) for name, code in _ABSENT_ERRORS.items()),
    _object_operation("acl", get_object_acl),
    _object_operation("retention", get_object_lock),
    _object_operation("legal-hold", get_object_lock),
    Operation(
        id="RestoreObject",
        method="POST",
        level=Level.OBJECT,
        on="restore",
        permission=(Need(Action.WRITE_OBJECT, on_object),),
        handler=restore_object,
    ),
    Operation(
        id="SelectObjectContent",
        method="POST",
        level=Level.OBJECT,
        on="select",
        permission=(Need(Action.READ_OBJECT, on_object),),
        handler=select_object_content,
    ),
)
