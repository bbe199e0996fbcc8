"""Sub-resources whose answer is always the same, because no repository or object differs in them.

Clients ask for them to find out what a bucket can do. What a bucket has not, S3 tells by an error
of its own; setting it is answered with NotImplemented, so that nobody believes it was done.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.permissions import Action
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call
from anabranch.s3.cors import MAX_AGE_SECONDS, METHODS
from anabranch.s3.errors import S3Error
from anabranch.s3.operation import Level, Need, Operation
from anabranch.s3.operations.buckets import OWNER
from anabranch.s3.operations.resources import on_bucket, on_object
from anabranch.s3.xml_writer import document, element, leaf

__all__ = ["NAMES", "OPERATIONS"]

_INSTANCE = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"'
_GRANT = (
    f"<Grant><Grantee {_INSTANCE}>{leaf('ID', 'anabranch')}{leaf('DisplayName', 'anabranch')}"
    f"</Grantee>{leaf('Permission', 'FULL_CONTROL')}</Grant>"
)
_ACL = document("AccessControlPolicy", OWNER, element("AccessControlList", _GRANT))

_SAME = {
    "accelerate": document("AccelerateConfiguration"),
    "acl": _ACL,
    "logging": document("BucketLoggingStatus"),
    "notification": document("NotificationConfiguration"),
    "requestPayment": document("RequestPaymentConfiguration", leaf("Payer", "BucketOwner")),
    "versioning": document("VersioningConfiguration"),
}
"""What every bucket has, by the name in the query."""

_ABSENT = {
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
"""What no bucket has, with the error that says so."""

_OTHERS = """
    analytics attributes cors delete intelligent-tiering inventory legal-hold list-type location
    metadataTable metrics restore retention select session torrent uploadId uploads versions
"""
NAMES = frozenset(_OTHERS.split()).union(_SAME, _ABSENT)
"""All that S3 has, but the two that only say which part or version is meant."""


def get_location(call: Call) -> Answer:
    """Returns the region, which S3 leaves out where it is the oldest."""
    call.services.catalog.repositories.get(call.address.bucket)
    region = call.services.region
    return Answer(200, document("LocationConstraint", "" if region == "us-east-1" else region))


def get_cors(call: Call) -> Answer:
    """Returns which web pages may send requests, as the settings say for all buckets."""
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
    return Answer(200, document("CORSConfiguration", rule))


def get_object_acl(call: Call) -> Answer:
    """Returns the same for every object that is there."""
    address = call.address
    call.services.catalog.objects.stat(address.bucket, address.ref, address.path)
    return Answer(200, _ACL)


def get_object_lock(call: Call) -> Answer:
    """Tells that an object that is there is under no lock."""
    address = call.address
    call.services.catalog.objects.stat(address.bucket, address.ref, address.path)
    raise S3Error("NoSuchObjectLockConfiguration")


def restore_object(call: Call) -> Answer:
    """Tells that an object that is there need not be restored."""
    address = call.address
    call.services.catalog.objects.stat(address.bucket, address.ref, address.path)
    raise S3Error(
        "InvalidObjectState", "Restore is not allowed for the object's current storage class"
    )


def select_object_content(_: Call) -> Answer:
    """Refuses, as S3 does to whoever has not used it before 2024."""
    raise S3Error("MethodNotAllowed", "Queries over objects are not supported: read the object.")


def _same(body: bytes) -> Callable[[Call], Answer]:
    def handler(call: Call) -> Answer:
        call.services.catalog.repositories.get(call.address.bucket)
        return Answer(200, body)

    return handler


def _absent(code: str) -> Callable[[Call], Answer]:
    def handler(call: Call) -> Answer:
        call.services.catalog.repositories.get(call.address.bucket)
        raise S3Error(code)

    return handler


def _of_bucket(name: str, handler: Callable[[Call], Answer]) -> Operation:
    return Operation(
        id=f"GetBucket {name}",
        method="GET",
        level=Level.BUCKET,
        on=name,
        permission=(Need(Action.READ_REPOSITORY, on_bucket),),
        handler=handler,
    )


def _of_object(name: str, handler: Callable[[Call], Answer]) -> Operation:
    return Operation(
        id=f"GetObject {name}",
        method="GET",
        level=Level.OBJECT,
        on=name,
        permission=(Need(Action.READ_OBJECT, on_object),),
        handler=handler,
    )


OPERATIONS = (
    _of_bucket("location", get_location),
    _of_bucket("cors", get_cors),
    *(_of_bucket(name, _same(body)) for name, body in _SAME.items()),
    *(_of_bucket(name, _absent(code)) for name, code in _ABSENT.items()),
    _of_object("acl", get_object_acl),
    _of_object("retention", get_object_lock),
    _of_object("legal-hold", get_object_lock),
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
