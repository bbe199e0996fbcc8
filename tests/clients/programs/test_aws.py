"""The AWS command line's own commands: `aws s3`."""

from __future__ import annotations

import os
import re

import pytest

from anabranch.testing.server import running_server

MANY = 1_100


def transfers(ran):
    """Returns the transferred objects, with the verb."""
    return sorted(line.partition(": ")[0] for line in ran.lines if ": " in line)


@pytest.mark.wiring
def test_a_file_goes_up_and_comes_down(any_aws, repo, home):
    content = os.urandom(100_000)
    (home / "file.csv").write_bytes(content)
    key = f"s3://{repo.id}/main/a b/file+1.csv"
    any_aws("s3", "cp", "file.csv", key, "--metadata", "origin=ship,depth=10935")
    stored = repo.sdk.objects_api.stat_object(repo.id, "main", "a b/file+1.csv")
    assert (stored.size_bytes, stored.content_type) == (100_000, "text/csv")
    assert stored.metadata == {"X-Amz-Meta-depth": "10935", "X-Amz-Meta-origin": "ship"}
    assert repo.get("a b/file+1.csv") == content
    any_aws("s3", "cp", key, "back.csv")
    assert (home / "back.csv").read_bytes() == content


@pytest.mark.slow  # as a file
def test_streams(aws, repo):
    key = f"s3://{repo.id}/main/stream"
    aws("s3", "cp", "-", key, send=b"from a stream")
    assert aws("s3", "cp", key, "-").bytes == b"from a stream"


def test_synchronizing_transfers_only_what_changed(any_aws, repo, tree, home, contents):
    there = f"s3://{repo.id}/main/tree"
    assert transfers(any_aws("s3", "sync", tree, there, "--no-progress")) == ["upload"] * 4
    assert any_aws("s3", "sync", tree, there).out == ""
    repo.commit()
    assert any_aws("s3", "sync", tree, there).out == "", "a commit changes no times"
    (tree / "one.csv").write_bytes(b"one\n")
    (tree / "deep" / "empty").unlink()
    changed = any_aws("s3", "sync", tree, there, "--no-progress", "--delete")
    assert transfers(changed) == ["delete", "upload"]

    assert transfers(any_aws("s3", "sync", there, "copy", "--no-progress")) == ["download"] * 3
    assert contents(home / "copy") == contents(tree)
    assert any_aws("s3", "sync", there, "copy").out == ""
    other = f"s3://{repo.id}/main/other"
    assert transfers(any_aws("s3", "sync", there, other, "--no-progress")) == ["copy"] * 3
    assert any_aws("s3", "sync", there, other).out == ""
    assert len(repo.paths()) == 6


@pytest.mark.slow
def test_listings(aws, stocked, past):
    recursive = aws("s3", "ls", "--recursive", f"s3://{stocked}/main/many/")
    names = [line.split()[3] for line in recursive.lines]
    assert names == [f"main/many/of-{number:04}" for number in range(MANY)]
    root = aws("s3", "ls", f"s3://{stocked}/main/", "--summarize").lines
    assert root[0].split() == ["PRE", "many/"]
    assert root[1].split()[2:] == ["5", "plain"]
    assert root[-2].split() == ["Total", "Objects:", "1"]
    past.branch("dev")
    branches = aws("s3", "ls", f"s3://{past.id}").lines
    assert [line.split() for line in branches] == [["PRE", "dev/"], ["PRE", "main/"]]
    assert past.id in aws("s3", "ls").out


def test_copies_and_moves_on_the_server(aws, repo):
    repo.put("a", b"content")
    here = f"s3://{repo.id}/main"
    aws("s3", "cp", f"{here}/a", f"{here}/b/c")
    aws("s3", "mv", f"{here}/a", f"{here}/d")
    assert repo.paths() == ["b/c", "d"]
    repo.branch("dev")
    aws("s3", "cp", f"{here}/d", f"s3://{repo.id}/dev/d")
    assert repo.get("d", "dev") == b"content"
    stats = [repo.sdk.objects_api.stat_object(repo.id, "main", path) for path in ("b/c", "d")]
    assert {stat.checksum for stat in stats} == {"9a0364b9e99bb480dd25e1f0284c8555"}


def test_deleting(aws, repo):
    for path in ("a", "tree/b", "tree/c/d", "treetop"):
        repo.put(path)
    aws("s3", "rm", f"s3://{repo.id}/main/a")
    aws("s3", "rm", "--recursive", f"s3://{repo.id}/main/tree/")
    assert repo.paths() == ["treetop"]


def test_presigned_urls(any_aws, repo, fetch):
    repo.put("a b/c+d.txt", b"shared")
    url = any_aws(
        "s3", "presign", f"s3://{repo.id}/main/a b/c+d.txt", "--expires-in", "60"
    ).out.strip()
    assert fetch(url) == (200, b"shared")
    status, body = fetch(url.replace("shared", "other").replace("c%2Bd", "other"))
    assert status == 403
    assert b"<Code>SignatureDoesNotMatch</Code>" in body


@pytest.mark.slow
def test_reading_the_past_and_not_writing_it(any_aws, past, home):
    for ref in ("v1", past.first, "main~1"):
        assert any_aws("s3", "cp", f"s3://{past.id}/{ref}/depth.csv", "-").out == "Mariana,10935\n"
        listed = any_aws("s3", "ls", f"s3://{past.id}/{ref}/").lines
        assert [line.split()[2:] for line in listed] == [["14", "depth.csv"]]
    (home / "new").write_bytes(b"new")
    for ref in ("v1", past.first):
        refused = any_aws.attempt("s3", "cp", "new", f"s3://{past.id}/{ref}/depth.csv")
        assert refused.status == 1
        assert "(NoSuchBucket)" in refused.errors
        refused = any_aws.attempt("s3", "rm", f"s3://{past.id}/{ref}/depth.csv")
        assert refused.status == 1
        assert "(MethodNotAllowed)" in refused.errors
    assert past.get("depth.csv", "v1") == b"Mariana,10935\n"


@pytest.mark.slow  # test_boto3.py has its errors
def test_missing_resource(aws, repo):
    missing = aws.attempt("s3", "cp", f"s3://{repo.id}/main/none", "-")
    assert missing.status == 1
    assert "(404)" in missing.errors
    assert aws.attempt("s3", "ls", f"s3://{repo.id}/main/none").status == 1
    unknown = aws.attempt("s3", "ls", "s3://no-such-repository/main/")
    assert "(NoSuchBucket)" in unknown.errors


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ("aws_secret_access_key", "SignatureDoesNotMatch"),
        ("aws_access_key_id", "InvalidAccessKeyId"),
    ],
)
def test_keys_that_are_wrong(aws, repo, home, setting, code):
    settings = home / ".aws" / "config"
    settings.write_text(re.sub(rf"{setting} = .*", f"{setting} = wrong", settings.read_text()))
    refused = aws.attempt("s3", "ls", f"s3://{repo.id}/main/")
    assert refused.status != 0
    assert f"({code})" in refused.errors


@pytest.mark.slow
def test_making_a_repository(aws, tmp_path):
    refused = aws.attempt("s3", "mb", "s3://by-hand")
    assert "(NotImplemented)" in refused.errors, "nothing says where its bytes would go"
    settings = {"ANABRANCH_BLOCKSTORE_DEFAULT_NAMESPACE_PREFIX": "local://"}
    with running_server(tmp_path / "lake", env=settings) as server:
        there = ["--endpoint-url", server.url]
        assert aws(*there, "s3", "mb", "s3://by-hand").out == "make_bucket: by-hand\n"
        aws(*there, "s3", "cp", "-", "s3://by-hand/main/a", send=b"a")
        again = aws.attempt(*there, "s3", "mb", "s3://by-hand")
        assert "(BucketAlreadyExists)" in again.errors
        refused = aws.attempt(*there, "s3", "rb", "s3://by-hand", "--force")
        assert "(MethodNotAllowed)" in refused.errors


@pytest.fixture
def in_parts(aws_home):
    """Settings with multipart uploads of files of more than 5 MiB."""
    settings = aws_home / ".aws" / "config"
    parts = "    multipart_threshold = 5MB\n    multipart_chunksize = 5MB\n"
    settings.write_text(settings.read_text() + parts)


@pytest.mark.usefixtures("in_parts", "large_file")
def test_a_large_file(any_aws, repo, stat, large, home):
    here = f"s3://{repo.id}/main"
    any_aws("s3", "sync", ".", here, "--exclude", "*", "--include", "large.bin")
    assert repo.get("large.bin") == large
    assert stat("large.bin").checksum.endswith("-3")
    assert any_aws("s3", "sync", ".", here, "--exclude", "*", "--include", "large.bin").out == ""
    any_aws("s3", "cp", f"{here}/large.bin", f"{here}/copy.bin")  # copied in parts
    assert stat("copy.bin").checksum == stat("large.bin").checksum
    any_aws("s3", "cp", f"{here}/copy.bin", "back.bin")
    assert (home / "back.bin").read_bytes() == large


@pytest.mark.usefixtures("in_parts")
@pytest.mark.slow  # as a large file
def test_a_large_stream(aws, repo, large):
    there = f"s3://{repo.id}/main/stream"
    aws("s3", "cp", "-", there, send=large)
    assert aws("s3", "cp", there, "-").bytes == large


@pytest.mark.usefixtures("in_parts", "large_file")
def test_a_large_file_for_the_past(aws, past):
    refused = aws.attempt("s3", "cp", "large.bin", f"s3://{past.id}/v1/large.bin")
    assert refused.status == 1
    assert "(NoSuchBucket) when calling the CreateMultipartUpload" in refused.errors
    assert past.paths("v1") == ["depth.csv"]
