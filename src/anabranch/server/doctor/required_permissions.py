"""The permissions that the server needs, in the terms of each object store."""

from __future__ import annotations

from anabranch.errors import AnabranchError

__all__ = ["grant_hint"]

_FORBIDDEN = "storage_permission"

_S3 = {
    "list": "s3:ListBucket on arn:aws:s3:::{bucket}",
    "read": "s3:GetObject on arn:aws:s3:::{bucket}/*",
    "write": "s3:PutObject on arn:aws:s3:::{bucket}/*",
    "delete": "s3:DeleteObject on arn:aws:s3:::{bucket}/*",
    "parts": (
        "s3:PutObject, s3:ListMultipartUploadParts and s3:AbortMultipartUpload on "
        "arn:aws:s3:::{bucket}/*"
    ),
}
_GOOGLE = {
    "list": "storage.objects.list",
    "read": "storage.objects.get",
    "write": "storage.objects.create",
    "delete": "storage.objects.delete",
    "parts": (
        "storage.multipartUploads.create, storage.multipartUploads.listParts and "
        "storage.multipartUploads.abort"
    ),
}
_AZURE = {"list": "read", "read": "read", "write": "write", "delete": "delete", "parts": "write"}
_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"


def grant_hint(error: AnabranchError, store: str, bucket: str, permission: str) -> str:
    """Returns a hint that names the permission (`list`, `read`, `write`, `delete`, `parts`) to
    grant in a bucket of a type of store, if `error` says that it is missing; else the error's hint.
    """
    name = bucket.rstrip("/").rpartition("/")[2]
    if error.kind != _FORBIDDEN:
        return error.hint or ""
    if store == "s3":
        return f"Grant the server's access key {_S3[permission].format(bucket=name)}."
    if store == "gs":
        return (
            f"Grant the server's service account {_GOOGLE[permission]} on the bucket {name}: the "
            "role Storage Object Admin includes all that is needed."
        )
    if store == "azure":
        return (
            f"Grant the server's identity {_BLOBS}/{_AZURE[permission]} on the container {name}: "
            "the role Storage Blob Data Contributor includes all that is needed. With an access "
            "key, check the account's firewall."
        )
    return error.hint or ""
