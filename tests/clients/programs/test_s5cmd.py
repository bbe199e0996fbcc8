"""s5cmd, which does many things at once and takes its commands from files."""

from __future__ import annotations

import hashlib
import json
import os

import pytest
from support.clients.odd_keys import content_of, file_paths
from support.services.program import Program


def events(ran):
    """Returns what its JSON tells, a dictionary a line."""
    return [json.loads(line) for line in ran.lines]


@pytest.mark.wiring
def test_a_file_goes_up_and_comes_down(s5cmd, repo, stat, home):
    content = os.urandom(100_000)
    (home / "file.csv").write_bytes(content)
    key = f"s3://{repo.id}/main/a b/é+1.csv"
    s5cmd("cp", "--content-type=text/x-sea", "--metadata", "depth=10935", "file.csv", key)
    stored = stat("a b/é+1.csv")
    assert (stored.size_bytes, stored.content_type) == (100_000, "text/x-sea")
    assert stored.metadata["X-Amz-Meta-depth"] == "10935"
    assert stored.checksum == hashlib.md5(content).hexdigest()
    s5cmd("cp", key, "back.csv")
    assert (home / "back.csv").read_bytes() == content
    assert s5cmd("cat", key).bytes == content
    (response,) = events(s5cmd("--json", "head", key))
    assert (response["size"], response["etag"]) == (100_000, stored.checksum)


def test_streams(s5cmd, repo):
    s5cmd("pipe", f"s3://{repo.id}/main/stream", send=b"from a stream")
    assert repo.get("stream") == b"from a stream"


def test_listings(s5cmd, stocked, past):
    listed = events(s5cmd("--json", "ls", f"s3://{stocked}/main/many/*"))
    assert [item["key"] for item in listed] == [
        f"s3://{stocked}/main/many/of-{number:04}" for number in range(1_100)
    ]
    root = s5cmd("ls", f"s3://{stocked}/main/").lines
    assert [line.split()[-1] for line in root] == ["many/", "plain"]
    response = events(s5cmd("--json", "du", f"s3://{stocked}/main/*"))
    assert (response[0]["count"], response[0]["size"]) == (1101, 13205)
    past.branch("dev")
    branches = s5cmd("ls", f"s3://{past.id}").lines
    assert [line.split()[-1] for line in branches] == ["dev/", "main/"]
    assert past.id in {line.split("s3://")[-1] for line in s5cmd("ls").lines}


def test_synchronizing_transfers_only_what_changed(s5cmd, repo, tree, home, contents):
    here, there = f"{tree}/", f"s3://{repo.id}/main/tree/"
    assert len(s5cmd("sync", here, there).lines) == 4
    assert s5cmd("sync", here, there).out == ""
    (tree / "one.csv").write_bytes(b"three\n")
    (tree / "deep" / "empty").unlink()
    done = s5cmd("sync", "--delete", here, there).lines
    assert sorted(line.split()[0] for line in done) == ["cp", "rm"]
    assert len(s5cmd("sync", f"{there}*", "copy/").lines) == 3
    assert contents(home / "copy") == contents(tree)
    s5cmd("sync", f"{there}*", f"s3://{repo.id}/main/other/")
    assert len(repo.paths()) == 6


@pytest.mark.slow  # test_aws.py and test_rclone.py, by the same requests
def test_copying_moving_and_deleting(s5cmd, repo):
    here = f"s3://{repo.id}/main"
    repo.put("a", b"content")
    s5cmd("cp", f"{here}/a", f"{here}/b/c")
    s5cmd("mv", f"{here}/a", f"{here}/d")
    assert repo.paths() == ["b/c", "d"]
    assert repo.get("d") == b"content"
    again = s5cmd.attempt("cp", "--no-clobber", f"{here}/d", f"{here}/b/c")
    assert (again.status, repo.get("b/c")) == (0, b"content")
    many = "".join(f"cp {here}/d {here}/many/{number}\n" for number in range(50))
    s5cmd("run", send=many.encode())
    assert len(repo.paths()) == 52
    s5cmd("rm", f"{here}/*")
    assert repo.paths() == []


@pytest.mark.usefixtures("large_file")
def test_a_large_file(s5cmd, repo, stat, large, home):
    parts = ("--part-size=5", "--concurrency=3")
    there = f"s3://{repo.id}/main/large.bin"
    s5cmd("cp", *parts, "large.bin", there)
    assert repo.get("large.bin") == large
    assert stat("large.bin").checksum.endswith("-3")
    s5cmd("cp", *parts, there, "back.bin")
    assert (home / "back.bin").read_bytes() == large


@pytest.mark.slow  # tests/clients/s3/test_boto3_odd_keys.py
def test_odd_keys(s5cmd, repo, home, contents):
    """Names with `*` and `?` are patterns to it, a backslash is not a part of a name on a way up,
    and characters of control do not survive the listing it asks for without `encoding-type`.
    """
    folder = home / "up"
    can = [path for path in file_paths() if not set(path) & set("*?\\") and path.isprintable()]
    assert len(can) > 150
    for path in can:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content_of(path))
    there = f"s3://{repo.id}/main/"
    s5cmd("cp", f"{folder}/", there)
    assert set(repo.paths()) == set(can)
    s5cmd("cp", f"{there}*", "down/")
    assert contents(home / "down") == {path: content_of(path) for path in can}


def test_presigned_urls(s5cmd, repo, fetch):
    repo.put("a b/c+d.txt", b"shared")
    url = s5cmd("presign", "--expire", "10m", f"s3://{repo.id}/main/a b/c+d.txt").out.strip()
    assert fetch(url) == (200, b"shared")
    status, body = fetch(url.replace("X-Amz-Expires=600", "X-Amz-Expires=601"))
    assert (status, b"<Code>SignatureDoesNotMatch</Code>" in body) == (403, True)


@pytest.mark.slow  # test_aws.py and test_rclone.py, by the same requests
def test_reading_the_past_and_not_writing_it(s5cmd, past, home):
    for ref in ("v1", past.first, "main~1"):
        assert s5cmd("cat", f"s3://{past.id}/{ref}/depth.csv").out == "Mariana,10935\n"
    (home / "new").write_bytes(b"new")
    refused = s5cmd.attempt("cp", "new", f"s3://{past.id}/v1/depth.csv")
    assert (refused.status, "NoSuchBucket" in refused.errors) == (1, True)
    refused = s5cmd.attempt("rm", f"s3://{past.id}/v1/depth.csv")
    assert refused.status == 1
    assert "v1 is not a branch and cannot be changed" in refused.errors
    assert past.get("depth.csv", "v1") == b"Mariana,10935\n"


def test_missing_resource_and_wrong_keys(s5cmd, repo, clients_bin, page, home):
    missing = s5cmd.attempt("cat", f"s3://{repo.id}/main/none")
    assert missing.status == 1
    assert "main/none not found" in missing.errors
    wrong = {"AWS_ACCESS_KEY_ID": page.server.access_key_id, "AWS_SECRET_ACCESS_KEY": "wrong"}
    endpoint = f"--endpoint-url={page.server.url}"
    other = Program([clients_bin / "s5cmd", endpoint], folder=home, env=wrong)
    refused = other.attempt("ls", f"s3://{repo.id}/main/")
    assert "SignatureDoesNotMatch" in refused.errors
