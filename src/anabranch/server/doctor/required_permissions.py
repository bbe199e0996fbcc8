"""What to grant, in each store's own words, where our credentials may not do something."""

from __future__ import annotations

from anabranch.errors import AnabranchError

__all__ = ["right_to_grant"]

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


def right_to_grant(error: AnabranchError, store: str, place: str, deed: str) -> str:
    """Returns the permission to grant for an action (`list`, `read`, `write`, `delete`, `parts`) in
    a namespace of a type of store that refused it with an error; for other errors, their hint.
    """
    bucket = place.rstrip("/").rpartition("/")[2]
    if error.kind != _FORBIDDEN:
        return error.hint or ""
    if store == "s3":
        return f"Grant our access key {_S3[deed].format(bucket=bucket)}."
    if store == "gs":
        return (
            f"Grant our service account {_GOOGLE[deed]} on the bucket {bucket}: the role Storage "
            "Object Admin has all that is needed."
        )
    if store == "azure":
        return (
            f"Grant our identity {_BLOBS}/{_AZURE[deed]} on the container {bucket}: the role "
            "Storage Blob Data Contributor has all that is needed. With an access key, look at "
            "the account's firewall."
        )
    return error.hint or ""
