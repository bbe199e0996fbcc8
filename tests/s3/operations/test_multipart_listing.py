"""Parts and uploads, listed by boto3: in pages, with prefixes, delimiters and odd keys."""

from __future__ import annotations

import pytest

KEYS = ["dev/a", "main/a", "main/a", "main/b c/é", "main/d/1", "main/d/2", "main/z&<>"]


@pytest.fixture
def uploads(s3, api, bucket):
    """Uploads to KEYS; their keys and ids, in the order in which they are listed."""
    api.post(f"/repositories/{bucket}/branches", json={"name": "dev", "source": "main"})
    begun = [(key, s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]) for key in KEYS]
    return sorted(begun)


def rows(page):
    return [(upload["Key"], upload["UploadId"]) for upload in page.get("Uploads", [])]


def prefixes(page):
    return [item["Prefix"] for item in page.get("CommonPrefixes", [])]


def test_all_uploads(s3, bucket, uploads):
    page = s3.list_multipart_uploads(Bucket=bucket)
    assert rows(page) == uploads
    assert (page["IsTruncated"], page["MaxUploads"]) == (False, 1000)
    assert {upload["StorageClass"] for upload in page["Uploads"]} == {"STANDARD"}


@pytest.mark.parametrize("amount", [1, 2, 3, 6, 7, 8])
@pytest.mark.sample(3)
def test_uploads_in_pages(s3, bucket, uploads, amount):
    pages = s3.get_paginator("list_multipart_uploads").paginate(
        Bucket=bucket, PaginationConfig={"PageSize": amount}
    )
    assert [row for page in pages for row in rows(page)] == uploads


def test_uploads_by_prefix_and_delimiter(s3, bucket, uploads):
    page = s3.list_multipart_uploads(Bucket=bucket, Prefix="main/", Delimiter="/")
    assert prefixes(page) == ["main/b c/", "main/d/"]
    assert [key for key, _ in rows(page)] == ["main/a", "main/a", "main/z&<>"]
    page = s3.list_multipart_uploads(Bucket=bucket, Delimiter="/")
    assert (prefixes(page), rows(page)) == (["dev/", "main/"], [])
    page = s3.list_multipart_uploads(Bucket=bucket, Prefix="main/d/")
    assert rows(page) == [row for row in uploads if row[0].startswith("main/d/")]
    page = s3.list_multipart_uploads(Bucket=bucket, KeyMarker="main/a")
    assert rows(page) == [row for row in uploads if row[0] > "main/a"]
    after = next(row for row in uploads if row[0] == "main/a")
    page = s3.list_multipart_uploads(Bucket=bucket, KeyMarker=after[0], UploadIdMarker=after[1])
    assert rows(page) == [row for row in uploads if row > after]
    assert rows(s3.list_multipart_uploads(Bucket=bucket, MaxUploads=0)) == []


@pytest.mark.usefixtures("uploads")
def test_keys_are_encoded_if_wanted(s3, bucket):
    page = s3.list_multipart_uploads(Bucket=bucket, EncodingType="url", Delimiter=" ")
    assert "main/z%26%3C%3E" in [key for key, _ in rows(page)]
    assert prefixes(page) == ["main/b%20"]
    assert page["EncodingType"] == "url"


def test_parts_in_pages(s3, bucket):
    upload = {"Bucket": bucket, "Key": "main/é"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    numbers = [1, 2, 5, 9_999, 10_000]
    for number in numbers:
        s3.upload_part(**upload, PartNumber=number, Body=b"x" * number)
    page = s3.list_parts(**upload)
    assert [(part["PartNumber"], part["Size"]) for part in page["Parts"]] == [
        (number, number) for number in numbers
    ]
    assert (page["Key"], page["IsTruncated"], page["NextPartNumberMarker"]) == (
        "main/é",
        False,
        10_000,
    )
    for amount in (1, 2, 5):
        pages = s3.get_paginator("list_parts").paginate(
            **upload, PaginationConfig={"PageSize": amount}
        )
        found = [part["PartNumber"] for page in pages for part in page.get("Parts", [])]
        assert found == numbers
    page = s3.list_parts(**upload, PartNumberMarker=5, MaxParts=1)
    assert [part["PartNumber"] for part in page["Parts"]] == [9_999]
    assert page["IsTruncated"]
    assert "Parts" not in s3.list_parts(**upload, MaxParts=0)
    assert "Parts" not in s3.list_parts(**upload, PartNumberMarker=10_000)
