"""How a program with the keys of a workspace tries to get out by each operation of S3.

Each operation is here once: a new one fails the suite until it says how it is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
from botocore.exceptions import ClientError

__all__ = ["ATTEMPTS", "LISTINGS", "REFUSED", "outside_keys", "unwritable_keys"]


def _words(text: str) -> list[str]:
    return text.split(";")


REFUSED = [
    name.strip()
    for name in _words("""
    CreateBucket; DeleteBucket; GetBucket cors; GetBucket accelerate; GetBucket acl;
    GetBucket logging; GetBucket notification; GetBucket requestPayment; GetBucket encryption;
    GetBucket lifecycle; GetBucket object-lock; GetBucket ownershipControls; GetBucket policy;
    GetBucket policyStatus; GetBucket publicAccessBlock; GetBucket replication; GetBucket tagging;
    GetBucket website; GetObject acl; GetObject retention; GetObject legal-hold; RestoreObject;
    SelectObjectContent; ListMultipartUploads
""")
]
"""Operations that are refused even on the workspace's own branch."""

Attempt = Callable[[Any, str, str], Any]
"""Sends a request as an intruder, about a key of a bucket."""


def outside_keys(world, path="in/a.csv"):
    """Returns buckets and keys at references that the keys of a workspace do not reach, and paths
    that they do not read.
    """
    own, other = world.workspace, world.foreign
    references = [
        "main",
        "other",
        "v1",
        world.before,
        world.later,
        f"{own}~1",
        f"{own}^",
        f"{own}@{{1 hour ago}}",
        f"{world.source}~1",
        world.later[:12],
        "absent",
    ]
    return [
        *((world.repository, f"{reference}/{path}") for reference in references),
        (world.repository, f"{own}/secret/a.csv"),
        (other, f"{own}/{path}"),
        (other, f"main/{path}"),
    ]


def unwritable_keys(world):
    """Returns keys on the workspace's branch, and at its views, that it cannot write."""
    own, source = world.workspace, world.source
    keys = [
        f"{own}/in/a.csv",
        f"{own}/secret/a.csv",
        f"{own}/_lakefs_actions/a.yaml",
        f"{own}/_lakefs_merge.yaml",
        f"{own}/out/../in/a.csv",
        f"{own}//out/a.csv",
        f"{own}/Out/a.csv",
        f"{own}@/out/a.csv",
        f"{own}$/out/a.csv",
        f"{source}/out/a.csv",
    ]
    return [*((world.repository, key) for key in keys), *outside_keys(world, "out/old.csv")]


def _post(intruder, bucket, key):
    form = intruder.s3.generate_presigned_post(bucket, key)
    response = httpx2.post(form["url"], data=form["fields"], files={"file": b"x"})
    assert response.status_code == 403, (key, response.text)
    raise ClientError({"Error": {"Code": "AccessDenied"}}, "PostObject")


def _presigned_get(intruder, bucket, key):
    url = intruder.s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": key})
    assert httpx2.get(url).status_code == 403, key
    raise ClientError({"Error": {"Code": "AccessDenied"}}, "GetObject")


def _delete_many(intruder, bucket, key):
    wanted = {"Objects": [{"Key": key}, {"Key": f"{intruder.world.workspace}/out/absent.csv"}]}
    answer = intruder.s3.delete_objects(Bucket=bucket, Delete=wanted)
    assert [each["Code"] for each in answer["Errors"]] == ["AccessDenied"], (key, answer)
    intruder.s3.delete_object(Bucket=bucket, Key=key)


def _copied_from(intruder, bucket, key):
    place = {"Bucket": intruder.world.repository, "Key": f"{intruder.world.workspace}/out/copy"}
    intruder.s3.copy_object(**place, CopySource={"Bucket": bucket, "Key": key})


def _part_copied_from(intruder, bucket, key):
    place = {"Bucket": intruder.world.repository, "Key": f"{intruder.world.workspace}/out/copy"}
    upload = intruder.s3.create_multipart_upload(**place)["UploadId"]
    source = {"CopySource": {"Bucket": bucket, "Key": key}}
    intruder.s3.upload_part_copy(**place, UploadId=upload, PartNumber=1, **source)


def _calls(name: str, **extra: Any) -> Attempt:
    return lambda intruder, bucket, key: getattr(intruder.s3, name)(Bucket=bucket, Key=key, **extra)


def _part(intruder, bucket, key):
    """Sends a part to an upload that the workspace has begun for another key."""
    place = {"Bucket": intruder.world.repository, "Key": f"{intruder.world.workspace}/out/parts"}
    upload = intruder.s3.create_multipart_upload(**place)["UploadId"]
    intruder.s3.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=1, Body=b"x")


_TAGS = {"TagSet": [{"Key": "k", "Value": "v"}]}
_PARTS = {"Parts": [{"PartNumber": 1, "ETag": "x"}]}

ATTEMPTS: dict[str, tuple[str, list[Attempt]]] = {
    "GetObject": ("read", [_calls("get_object"), _presigned_get]),
    "HeadObject": ("read", [_calls("head_object")]),
    "GetObjectAttributes": (
        "read",
        [_calls("get_object_attributes", ObjectAttributes=["ETag"])],
    ),
    "GetObjectTagging": ("read", [_calls("get_object_tagging")]),
    "CopyObject": ("read", [_copied_from]),
    "UploadPartCopy": ("read", [_part_copied_from]),
    "PutObject": ("write", [_calls("put_object", Body=b"x")]),
    "PostObject": ("write", [_post]),
    "DeleteObject": ("write", [_calls("delete_object")]),
    "DeleteObjects": ("write", [_delete_many]),
    "PutObjectTagging": ("write", [_calls("put_object_tagging", Tagging=_TAGS)]),
    "DeleteObjectTagging": ("write", [_calls("delete_object_tagging")]),
    "CreateMultipartUpload": ("write", [_calls("create_multipart_upload")]),
    "AbortMultipartUpload": ("write", [_calls("abort_multipart_upload", UploadId="1")]),
    "UploadPart": ("write", [_part]),
    "ListParts": ("outside", [_calls("list_parts", UploadId="1")]),
    "CompleteMultipartUpload": (
        "write",
        [_calls("complete_multipart_upload", UploadId="1", MultipartUpload=_PARTS)],
    ),
}
"""By operation, which keys are tried, and how: each attempt raises an error that refuses it."""

LISTINGS = {
    "ListBuckets",
    "HeadBucket",
    "GetBucket location",
    "GetBucket versioning",
    "ListObjects",
    "ListObjectsV2",
    "ListObjectVersions",
}
"""Operations on buckets, whose attempts are tests of their own."""
