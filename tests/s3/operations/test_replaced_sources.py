"""External objects of an image that were replaced: S3 clients must not retry."""

from __future__ import annotations

import uuid

import httpx2
import pytest
from botocore.exceptions import ClientError

from .conftest import boto3_client


@pytest.fixture
def image(importing, import_folder):
    """An image of a file and of a larger one, which are replaced and removed then."""
    folder = import_folder / uuid.uuid4().hex
    folder.mkdir()
    for name, content in (("small", b"abc"), ("large", b"abc" * 1_000_000), ("removed", b"abc")):
        (folder / name).write_bytes(content)
    tag = f"t-{uuid.uuid4().hex[:12]}"
    with httpx2.Client(base_url=importing.api, auth=importing.auth, timeout=60) as api:
        built = api.post(f"/images/{tag}", content=f"ADD local://{folder}/ /")
        assert built.status_code == 201, built.text
        body = {"name": f"copies-{tag}", "storage_namespace": f"local://copies-{tag}"}
        assert api.post("/repositories", json=body).status_code == 201
    for name in ("small", "large"):
        (folder / name).write_bytes(b"coffee")
    (folder / "removed").unlink()
    return tag


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["small", "large", "removed"])
def test_an_object_whose_source_was_replaced_is_gone(importing, image, name):
    s3 = boto3_client(importing, retries={"total_max_attempts": 3})
    key = f"{image}/{name}"
    place = {"Bucket": f"copies-{image}", "Key": "main/copy"}
    upload = {**place, "UploadId": s3.create_multipart_upload(**place)["UploadId"]}
    source = {"Bucket": "image", "Key": key}
    for read in (
        lambda: s3.get_object(Bucket="image", Key=key),
        lambda: s3.get_object(Bucket="image", Key=key, Range="bytes=0-1"),
        lambda: s3.copy_object(**place, CopySource=source),
        lambda: s3.upload_part_copy(**upload, PartNumber=1, CopySource=source),
    ):
        with pytest.raises(ClientError) as caught:
            read()
        error, metadata = (caught.value.response[part] for part in ("Error", "ResponseMetadata"))
        assert (error["Code"], metadata["HTTPStatusCode"]) == ("Gone", 410)
        assert "image pins" in error["Message"]
        assert metadata["RetryAttempts"] == 0
        assert "image" in metadata["HTTPHeaders"]["x-anabranch-hint"]
