"""s3cmd, which signs in ways of its own and asks about buckets before it does anything."""

from __future__ import annotations

import os

import pytest


def transferred(ran):
    """Returns the verbs of what was transferred."""
    verbs = ("upload:", "download:", "remote copy:", "delete:")
    return [line.partition(":")[0] for line in ran.lines if line.startswith(verbs)]


@pytest.mark.wiring
def test_a_file_goes_up_and_comes_down(s3cmd, repo, home):
    content = os.urandom(100_000)
    (home / "file.csv").write_bytes(content)
    key = f"s3://{repo.id}/main/a b/file+1.csv"
    s3cmd("put", "file.csv", key, "--add-header=x-amz-meta-depth:10935", "--mime-type=text/x-sea")
    stored = repo.sdk.objects_api.stat_object(repo.id, "main", "a b/file+1.csv")
    assert (stored.size_bytes, stored.content_type) == (100_000, "text/x-sea")
    assert stored.metadata["X-Amz-Meta-depth"] == "10935"
    assert repo.get("a b/file+1.csv") == content
    s3cmd("get", key, "back.csv")
    assert (home / "back.csv").read_bytes() == content
    response = s3cmd("info", key).out
    assert "File size: 100000" in response
    assert f"MD5 sum:   {stored.checksum}" in response
    assert "x-amz-meta-depth: 10935" in response


@pytest.mark.slow  # as a file
def test_streams(s3cmd, repo):
    s3cmd("put", "-", f"s3://{repo.id}/main/stream", send=b"from a stream")
    assert s3cmd("get", f"s3://{repo.id}/main/stream", "-").bytes == b"from a stream"


@pytest.mark.parametrize("version", ["", "--signature-v2"])
@pytest.mark.sample(1)
def test_synchronizing_transfers_only_what_changed(s3cmd, repo, tree, home, contents, version):
    def sync(*words):
        return transferred(s3cmd("sync", *filter(None, [version]), *words))

    here, there = f"{tree}/", f"s3://{repo.id}/main/tree/"
    assert sync(here, there) == ["upload"] * 4
    assert sync(here, there) == []
    (tree / "one.csv").write_bytes(b"3\n")  # of the same length: the checksum tells
    (tree / "deep" / "empty").unlink()
    assert sync("--delete-removed", here, there) == ["delete", "upload"]
    assert sync(there, "copy/") == ["download"] * 3
    assert contents(home / "copy") == contents(tree)
    assert sync(there, "copy/") == []
    other = f"s3://{repo.id}/main/other/"
    assert sync(there, other) == ["remote copy"] * 3
    assert sync(there, other) == []
    assert len(repo.paths()) == 6


def test_listings(s3cmd, stocked, past):
    listed = s3cmd("ls", "--recursive", f"s3://{stocked}/main/many/").lines
    assert [line.split()[3] for line in listed] == [
        f"s3://{stocked}/main/many/of-{number:04}" for number in range(1_100)
    ]
    root = [line.split() for line in s3cmd("ls", f"s3://{stocked}/main/").lines]
    assert root[0] == ["DIR", f"s3://{stocked}/main/many/"]
    assert root[1][2:] == ["5", f"s3://{stocked}/main/plain"]
    past.branch("dev")
    branches = s3cmd("ls", f"s3://{past.id}").out.split()
    assert branches == ["DIR", f"s3://{past.id}/dev/", "DIR", f"s3://{past.id}/main/"]
    assert f"s3://{past.id}\n" in s3cmd("ls").out
    assert s3cmd("du", f"s3://{stocked}/main/").out.split()[:3] == ["13205", "1101", "objects"]


@pytest.mark.slow  # test_aws.py and test_rclone.py, by the same requests
def test_copying_moving_and_deleting(s3cmd, repo):
    repo.put("a", b"content")
    here = f"s3://{repo.id}/main"
    s3cmd("cp", f"{here}/a", f"{here}/b/c")
    s3cmd("mv", f"{here}/a", f"{here}/d")
    assert repo.paths() == ["b/c", "d"]
    assert repo.get("d") == b"content"
    s3cmd("modify", "--add-header=x-amz-meta-k:v", "--mime-type=text/x-sea", f"{here}/d")
    stored = repo.sdk.objects_api.stat_object(repo.id, "main", "d")
    assert (stored.metadata["X-Amz-Meta-k"], stored.content_type) == ("v", "text/x-sea")
    s3cmd("rm", f"{here}/d")
    assert repo.paths() == ["b/c"]
    repo.put("e")
    s3cmd("rm", "--recursive", "--force", f"{here}/")
    assert repo.paths() == []


def test_presigned_urls(s3cmd, repo, fetch):
    repo.put("a b/c+d.txt", b"shared")
    url = s3cmd("signurl", f"s3://{repo.id}/main/a b/c+d.txt", "+60").out.strip()
    assert fetch(url) == (200, b"shared")
    late = s3cmd("signurl", f"s3://{repo.id}/main/a b/c+d.txt", "1600000000").out.strip()
    status, response = fetch(late)
    assert status == 403
    assert b"<Code>AccessDenied</Code>" in response


@pytest.mark.slow  # test_aws.py and test_rclone.py, by the same requests
def test_reading_the_past_and_not_writing_it(s3cmd, past, home):
    for ref in ("v1", past.first, "main~1"):
        assert s3cmd("get", f"s3://{past.id}/{ref}/depth.csv", "-").out == "Mariana,10935\n"
        listed = s3cmd("ls", f"s3://{past.id}/{ref}/").lines
        assert [line.split()[2:] for line in listed] == [["14", f"s3://{past.id}/{ref}/depth.csv"]]
    (home / "new").write_bytes(b"new")
    refused = s3cmd.attempt("put", "new", f"s3://{past.id}/v1/depth.csv")
    assert "404 (NoSuchBucket): branch 'v1' not found" in refused.errors
    refused = s3cmd.attempt("rm", f"s3://{past.id}/v1/depth.csv")
    assert "405 (MethodNotAllowed)" in refused.errors
    assert past.get("depth.csv", "v1") == b"Mariana,10935\n"


@pytest.mark.slow  # test_keys_that_are_wrong
def test_missing_resource(s3cmd, repo):
    missing = s3cmd.attempt("get", f"s3://{repo.id}/main/none", "-")
    assert missing.status == 64
    assert "does not exist" in missing.errors
    unknown = s3cmd.attempt("ls", "s3://no-such-repository/main/")
    assert unknown.status == 12
    assert "Bucket 'no-such-repository' does not exist" in unknown.errors


def test_keys_that_are_wrong(s3cmd, repo):
    there = f"s3://{repo.id}/main/"
    for version in ([], ["--signature-v2"]):
        refused = s3cmd.attempt("--secret_key=wrong", *version, "ls", there)
        assert "403 (SignatureDoesNotMatch)" in refused.errors
        refused = s3cmd.attempt("--access_key=wrong", *version, "ls", there)
        assert "403 (InvalidAccessKeyId)" in refused.errors


@pytest.mark.usefixtures("large_file")
@pytest.mark.parametrize("version", ["", pytest.param("--signature-v2", marks=pytest.mark.slow)])
def test_a_large_file(s3cmd, repo, stat, large, home, version):
    words = [*filter(None, [version]), "--multipart-chunk-size-mb=5"]
    here = f"s3://{repo.id}/main"
    s3cmd(*words, "sync", "large.bin", f"{here}/large.bin")
    assert repo.get("large.bin") == large
    assert stat("large.bin").checksum.endswith("-3")
    assert transferred(s3cmd(*words, "sync", "large.bin", f"{here}/large.bin")) == []
    s3cmd(*words, "cp", f"{here}/large.bin", f"{here}/copy.bin")
    s3cmd(*words, "get", f"{here}/copy.bin", "back.bin")
    assert (home / "back.bin").read_bytes() == large


@pytest.mark.slow  # tests/clients/s3/test_boto3_transfers.py
def test_uploads_that_were_begun(s3cmd, aws, repo, large_file, large):
    # begun by another client, and its first part sent; s3cmd sends the rest
    it = ("--bucket", repo.id, "--key", "main/large.bin")
    begun = aws("s3api", "create-multipart-upload", *it, "--query", "UploadId", "--output", "text")
    upload = begun.out.strip()
    there = f"s3://{repo.id}/main/large.bin"
    assert upload in s3cmd("multipart", f"s3://{repo.id}").out
    words = ("--multipart-chunk-size-mb=5", f"--upload-id={upload}")
    with large_file.open("rb") as file:
        (large_file.parent / "part").write_bytes(file.read(5 << 20))
    part = ("--part-number", "1", "--body", "part")
    aws("s3api", "upload-part", *it, "--upload-id", upload, *part)
    assert len(s3cmd("listmp", there, upload).lines) == 2
    s3cmd(*words, "put", "large.bin", there)
    assert repo.get("large.bin") == large
    begun = aws("s3api", "create-multipart-upload", *it, "--query", "UploadId", "--output", "text")
    s3cmd("abortmp", there, begun.out.strip())
    assert "large.bin" not in s3cmd("multipart", f"s3://{repo.id}").out
