"""Listings through boto3, compared with a plain model of what S3 lists."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

PATHS = sorted(
    ["a", "a/b", "a/b/c", "a b+&", "b//c", "b/é", "data-1.csv", "data-2.csv", "z/", "zz/y/x"],
    key=str.encode,
)


@pytest.fixture(scope="module")
def lake(s3, new_bucket, api):
    """A repository with objects, and further branches."""
    name = new_bucket()
    for path in PATHS:
        s3.put_object(Bucket=name, Key=f"main/{path}", Body=path.encode())
    for branch in ("dev", "dev-2", "feature"):
        made = {"name": branch, "source": "main"}
        assert api.post(f"/repositories/{name}/branches", json=made).is_success
    return name


def modelled(prefix, delimiter, after=""):
    """Returns what S3 lists of `main/` and PATHS, keys and common prefixes in one order."""
    found = []
    for key in (f"main/{path}" for path in PATHS):
        if not key.startswith(prefix):
            continue
        rest = key[len(prefix) :]
        shared = delimiter and delimiter in rest
        item = prefix + rest.partition(delimiter)[0] + delimiter if shared else key
        if item.encode() > after.encode() and item not in found:
            found.append(item)
    return found


def shown(page):
    keys = [item["Key"] for item in page.get("Contents", [])]
    prefixes = [item["Prefix"] for item in page.get("CommonPrefixes", [])]
    return sorted(keys + prefixes, key=str.encode)


@pytest.mark.parametrize("prefix", ["main/", "main/a", "main/a/", "main/b/", "main/none"])
@pytest.mark.parametrize("delimiter", ["", "/", "-", "b", "/y/"])
@pytest.mark.sample(4)
def test_pages_of_any_size_make_the_whole(s3, lake, prefix, delimiter):
    asked = {"Bucket": lake, "Prefix": prefix, "Delimiter": delimiter}
    expected = modelled(prefix, delimiter)
    for operation in ("list_objects_v2", "list_objects"):
        for size in (1, 3, 1000):
            pages = s3.get_paginator(operation).paginate(
                **asked, PaginationConfig={"PageSize": size}
            )
            assert [key for page in pages for key in shown(page)] == expected


def test_starting_after_a_key(s3, lake):
    for start in ("main/a/b", "main/", "main", "aaa", "main/nothing", "main0", "zzz/"):
        page = s3.list_objects_v2(Bucket=lake, Prefix="main/", StartAfter=start)
        assert shown(page) == modelled("main/", "", start)
        page = s3.list_objects(Bucket=lake, Prefix="main/", Marker=start)
        assert shown(page) == modelled("main/", "", start)


def test_the_root_shows_branches(s3, lake):
    for prefix, expected in (
        ("", ["dev/", "dev-2/", "feature/", "main/"]),
        ("dev", ["dev/", "dev-2/"]),
        ("main", ["main/"]),
        ("none", []),
    ):
        for delimiter in ("", "/"):
            asked = {"Bucket": lake, "Prefix": prefix, "Delimiter": delimiter}
            for operation in ("list_objects_v2", "list_objects"):
                pages = s3.get_paginator(operation).paginate(
                    **asked, PaginationConfig={"PageSize": 1}
                )
                found = [key for page in pages for key in shown(page)]
                assert sorted(found) == sorted(expected)


def test_listing_has_the_elements_of_s3(s3, lake):
    page = s3.list_objects_v2(
        Bucket=lake, Prefix="main/data", MaxKeys=1, FetchOwner=True, EncodingType="url"
    )
    item = page["Contents"][0]
    assert (item["Key"], item["Size"], item["StorageClass"]) == ("main/data-1.csv", 10, "STANDARD")
    assert item["ETag"] == s3.head_object(Bucket=lake, Key=item["Key"])["ETag"]
    assert item["LastModified"] == s3.head_object(Bucket=lake, Key=item["Key"])["LastModified"]
    assert item["Owner"]["ID"]
    assert (page["IsTruncated"], page["KeyCount"], page["MaxKeys"]) == (True, 1, 1)
    none = s3.list_objects_v2(Bucket=lake, Prefix="main/", MaxKeys=0)
    assert (none["KeyCount"], none["IsTruncated"]) == (0, False)
    assert s3.list_objects_v2(Bucket=lake, Prefix="main/", MaxKeys=5000)["MaxKeys"] == 1000


def test_missing_reference_lists_nothing_and_bad_parameters_fail(s3, lake):
    assert s3.list_objects_v2(Bucket=lake, Prefix="nothing/")["KeyCount"] == 0
    assert "Contents" not in s3.list_objects(Bucket=lake, Prefix="nothing/")
    for asked, expected in (
        ({"Bucket": "no-such-bucket"}, "NoSuchBucket"),
        ({"Bucket": "no-such-bucket", "Prefix": "main/"}, "NoSuchBucket"),
        ({"Bucket": lake, "MaxKeys": -1}, "InvalidArgument"),
        ({"Bucket": lake, "Prefix": "main/", "ContinuationToken": "dev/a"}, "InvalidArgument"),
    ):
        with pytest.raises(ClientError) as error:
            s3.list_objects_v2(**asked)
        assert error.value.response["Error"]["Code"] == expected
