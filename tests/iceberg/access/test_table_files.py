"""Files of tables over S3: written once, never removed, reached by rights to the table alone."""

from __future__ import annotations

import hashlib
import threading

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from anabranch.s3.operations.table_files.addresses import TABLE_FILE_OPERATIONS
from anabranch.s3.table import TABLE_OPERATIONS
from tests.iceberg.conftest import trips
from tests.server.access.conftest import allow, deny

PART = b"p" * (5 << 20)


def code_of(call):
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value.response["Error"]["Code"]


def s3_of(server, key, secret):
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}),
    )


class Files:
    """The files of a table, as one client of S3 sees them."""

    def __init__(self, s3, bucket, area):
        self.s3, self.bucket, self.area = s3, bucket, area

    def key(self, path):
        return {"Bucket": self.bucket, "Key": f".tables/{self.area}/{path}"}

    def put(self, path, content, **more):
        return self.s3.put_object(**self.key(path), Body=content, **more)

    def get(self, path, **more):
        return self.s3.get_object(**self.key(path), **more)["Body"].read()

    def names(self, prefix="", **more):
        listed = self.s3.list_objects_v2(
            Bucket=self.bucket, Prefix=f".tables/{self.area}/{prefix}", **more
        )
        root = f".tables/{self.area}/"
        keys = [each["Key"].removeprefix(root) for each in listed.get("Contents", [])]
        folders = [each["Prefix"].removeprefix(root) for each in listed.get("CommonPrefixes", [])]
        return keys, folders

    def upload(self, path, *parts):
        upload = self.s3.create_multipart_upload(**self.key(path))["UploadId"]
        place = {**self.key(path), "UploadId": upload}
        sent = [
            {
                "PartNumber": number,
                "ETag": self.s3.upload_part(**place, PartNumber=number, Body=part)["ETag"],
            }
            for number, part in enumerate(parts, 1)
        ]
        listed = self.s3.list_parts(**place)["Parts"]
        assert [each["Size"] for each in listed] == [len(part) for part in parts]
        return place, {"Parts": sent}


def area_of(lake, name="trips", reference="main"):
    answer = lake.http.get(lake.path(reference, f"/namespaces/city/tables/{name}"))
    return answer.json()["metadata"]["location"].rpartition("/")[2]


@pytest.fixture
def files(lake):
    """The files of a table, with the keys of an administrator."""
    lake.catalog().create_table("city.trips", trips().schema).append(trips(1))
    return Files(s3_of(lake.server, *lake.server.auth), lake.name, area_of(lake))


def test_each_operation_may_be_performed_by_keys_of_a_table():
    assert {operation.id for operation in TABLE_OPERATIONS} == TABLE_FILE_OPERATIONS


def test_a_file_is_written_once(files):
    etag = files.put("data/a", b"first")["ETag"]
    assert etag.strip('"') == hashlib.md5(b"first", usedforsecurity=False).hexdigest()
    assert files.put("data/a", b"first")["ETag"] == etag
    assert code_of(lambda: files.put("data/a", b"other")) == "PreconditionFailed"
    assert code_of(lambda: files.put("data/a", b"firs")) == "PreconditionFailed"
    assert files.get("data/a") == b"first"
    assert files.get("data/a", Range="bytes=1-2") == b"ir"
    head = files.s3.head_object(**files.key("data/a"))
    assert head["ContentLength"] == 5
    assert code_of(lambda: files.get("data/b")) == "NoSuchKey"
    assert code_of(lambda: files.s3.head_object(**files.key("data"))) == "404"


def test_nothing_is_removed(files):
    files.put("data/a", b"x")
    files.s3.delete_object(**files.key("data/a"))
    keys = {"Objects": [{"Key": files.key("data/a")["Key"]}, {"Key": files.key("none")["Key"]}]}
    answer = files.s3.delete_objects(Bucket=files.bucket, Delete=keys)
    assert len(answer["Deleted"]) == 2
    assert files.get("data/a") == b"x"


def test_files_in_parts_are_written_once_too(files):
    place, parts = files.upload("data/large", PART, b"end")
    files.s3.complete_multipart_upload(**place, MultipartUpload=parts)
    assert files.get("data/large") == PART + b"end"
    files.s3.complete_multipart_upload(**place, MultipartUpload=parts)  # after a lost response
    assert code_of(lambda: files.upload("data/large", b"x")) == "PreconditionFailed"
    late, parts = files.upload("data/late", b"one")
    files.put("data/late", b"two")
    complete = files.s3.complete_multipart_upload
    assert code_of(lambda: complete(**late, MultipartUpload=parts)) == "PreconditionFailed"
    assert files.get("data/late") == b"two"
    small, parts = files.upload("data/small", b"one", b"two")
    assert code_of(lambda: complete(**small, MultipartUpload=parts)) == "EntityTooSmall"
    files.s3.abort_multipart_upload(**small)
    assert code_of(lambda: complete(**small, MultipartUpload=parts)) == "NoSuchUpload"


def test_of_many_writers_of_a_name_one_succeeds(files):
    codes = []

    def write(number):
        try:
            files.put("data/one", b"%d" % number)
            codes.append("")
        except ClientError as error:
            codes.append(error.response["Error"]["Code"])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == ["", *["PreconditionFailed"] * 7]


def test_an_upload_is_of_one_file(files, lake):
    place, parts = files.upload("data/a", b"x")
    complete = files.s3.complete_multipart_upload
    other = {**place, "Key": files.key("data/b")["Key"]}
    assert code_of(lambda: complete(**other, MultipartUpload=parts)) == "NoSuchUpload"
    lake.catalog().create_table("city.other", trips().schema)
    elsewhere = {**place, "Key": f".tables/{area_of(lake, 'other')}/data/a"}
    assert code_of(lambda: complete(**elsewhere, MultipartUpload=parts)) == "NoSuchUpload"


def test_files_are_listed(files):
    for name in ("data/a/1", "data/a/2", "data/b", "data/c/3", "data/é 1"):
        files.put(name, b"x")
    assert set(files.names("data/")[0]) >= {"data/a/1", "data/b", "data/é 1"}
    assert files.names("data/a/") == (["data/a/1", "data/a/2"], [])
    keys, folders = files.names("data/", Delimiter="/")
    assert (folders, {"data/b", "data/é 1"} <= set(keys)) == (["data/a/", "data/c/"], True)
    assert files.names("", Delimiter="/") == ([], ["data/", "metadata/"])
    pages = files.s3.get_paginator("list_objects_v2").paginate(
        Bucket=files.bucket,
        Prefix=files.key("data/")["Key"],
        Delimiter="/",
        PaginationConfig={"PageSize": 1},
    )
    found = [
        each.get("Key") or each["Prefix"]
        for page in pages
        for each in [*page.get("Contents", []), *page.get("CommonPrefixes", [])]
    ]
    expected = sorted([files.key(name)["Key"] for name in [*keys, *folders]])
    assert sorted(found) == expected
    first = files.s3.list_objects(
        Bucket=files.bucket, Prefix=files.key("data/a/")["Key"], MaxKeys=1
    )
    assert first["IsTruncated"]


def test_areas_are_no_part_of_a_listing_of_branches(files):
    listed = files.s3.list_objects_v2(Bucket=files.bucket)
    assert [each["Prefix"] for each in listed["CommonPrefixes"]] == ["main/"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", ["", "../x", "a//b", "a/../b", "./a", "x" * 900])
def test_paths_that_are_none(files, path):
    assert code_of(lambda: files.put(path, b"x")) in {
        "InvalidArgument",
        "KeyTooLongError",
        "SignatureDoesNotMatch",
        "NoSuchKey",
        "404",
        "400",
    }


def test_areas_that_are_none(files, lake):
    for area in ("0" * 32, "uploads", "x", f"{files.area}.json", "..", ""):
        other = Files(files.s3, files.bucket, area)
        assert code_of(lambda other=other: other.put("a", b"x")) in {
            "NoSuchKey",
            "InvalidArgument",
            "SignatureDoesNotMatch",
        }
    assert lake.api.get(f"{lake.root}/refs/.tables/objects/ls").status_code in {400, 404}


def test_files_are_not_copied(files):
    files.put("data/a", b"x")
    source = files.key("data/a")
    target = {"Bucket": files.bucket, "Key": "main/stolen"}
    assert code_of(lambda: files.s3.copy_object(**target, CopySource=source)) == "NotImplemented"
    into = files.key("data/b")
    assert code_of(lambda: files.s3.copy_object(**into, CopySource=source)) == "NotImplemented"
    tags = {"TagSet": [{"Key": "a", "Value": "b"}]}
    tagging = lambda: files.s3.put_object_tagging(**source, Tagging=tags)  # noqa: E731
    assert code_of(tagging) == "NotImplemented"


class TestRights:
    """Who reaches the files of a table by their own keys: who has the right to its record."""

    @pytest.fixture
    def owner(self, team, lake_of_team):
        lake_of_team.catalog().create_table("city.trips", trips().schema)
        return Files(team.admin.s3, lake_of_team.name, area_of(lake_of_team))

    def on(self, lake, path="_tables/city/trips/*"):
        return f"arn:lakefs:fs:::repository/{lake.name}/object/{path}"

    def member(self, team, owner, *statements):
        return Files(team.member(*statements).s3, owner.bucket, owner.area)

    def test_a_reader_reads(self, team, lake_of_team, owner):
        owner.put("data/a", b"x")
        on = self.on(lake_of_team)
        reader = self.member(team, owner, allow("fs:ReadObject", on=on))
        assert reader.get("data/a") == b"x"
        assert "data/a" in reader.names()[0]
        attempts = [
            lambda: reader.put("data/b", b"x"),
            lambda: reader.s3.delete_object(**reader.key("data/a")),
            lambda: reader.s3.create_multipart_upload(**reader.key("data/b")),
        ]
        assert [code_of(each) for each in attempts] == ["AccessDenied"] * 3
        gone = reader.s3.delete_objects(
            Bucket=reader.bucket, Delete={"Objects": [{"Key": reader.key("data/a")["Key"]}]}
        )
        assert gone["Errors"][0]["Code"] == "AccessDenied"

    @pytest.mark.parametrize(
        "path", ["_tables/city/trips2/*", "_tables/city/tri", "data/*", "main/*"]
    )
    def test_others_reach_nothing(self, team, lake_of_team, owner, path):
        owner.put("data/a", b"x")
        other = self.member(team, owner, allow("fs:*", on=self.on(lake_of_team, path)))
        attempts = [
            lambda: other.get("data/a"),
            lambda: other.s3.head_object(**other.key("data/a")),
            other.names,
            lambda: other.put("data/b", b"x"),
        ]
        assert {code_of(each) for each in attempts} == {"AccessDenied", "403"}

    def test_a_right_that_depends_on_a_branch_does_not_reach_files(self, team, lake_of_team, owner):
        on = self.on(lake_of_team)
        condition = {"StringEquals": {"lakefs:branch": ["main"]}}
        bound = self.member(team, owner, allow("fs:WriteObject", on=on, **condition))
        assert code_of(lambda: bound.put("data/b", b"x")) == "AccessDenied"
        elsewhere = {"StringNotEquals": {"lakefs:branch": ["main"]}}
        bound = self.member(team, owner, allow("fs:WriteObject", on=on, **elsewhere))
        assert code_of(lambda: bound.put("data/b", b"x")) == "AccessDenied"
        both = self.member(team, owner, allow("fs:*"), deny("fs:WriteObject", on=on))
        assert code_of(lambda: both.put("data/b", b"x")) == "AccessDenied"
