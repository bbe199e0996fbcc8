"""The resources of permissions: functions from a call to the ARN of a resource."""

from __future__ import annotations

from anabranch.access.policies.permissions import ANY, namespace_arn, object_arn, repository_arn
from anabranch.s3.call import Call
from anabranch.s3.headers.copy_source import copy_source

__all__ = ["on_anything", "on_bucket", "on_copied_object", "on_namespace", "on_object"]


def on_anything(_: Call) -> str:
    """Returns the pattern for any resource."""
    return ANY


def on_bucket(call: Call) -> str:
    """Returns the ARN of the call's repository."""
    return repository_arn(call.address.bucket)


def on_namespace(call: Call) -> str:
    """Returns the ARN of the storage namespace that a new repository would have."""
    return namespace_arn(call.services.namespace_prefix + call.address.bucket)


def on_object(call: Call) -> str:
    """Returns the ARN of the call's object, which is the same on every reference."""
    return object_arn(call.address.bucket, call.address.path)


def on_copied_object(call: Call) -> str:
    """Returns the ARN of the copy's source object."""
    source = copy_source(call)
    return object_arn(source.bucket, source.path)
