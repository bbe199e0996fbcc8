"""rclone, which keeps the times of files in metadata and compares checksums."""

from __future__ import annotations

import json
import os
import re

import pytest


def copied(ran):
    """Returns the paths of what was transferred or deleted, with what happened to them."""
    return sorted(re.findall(r"INFO  : (.+): (Copied \(\S+|Deleted)", ran.errors))


@pytest.mark.wiring
def test_a_file_goes_up_and_comes_down(rclone, repo, home):
    content = os.urandom(100_000)
    (home / "file.csv").write_bytes(content)
    os.utime(home / "file.csv", (1_600_000_000.25, 1_600_000_000.25))
    there = f"lake:{repo.id}/main/a b/é+1.csv"
    rclone("copyto", "file.csv", there, "--metadata", "--header-upload=Cache-Control: no-store")
    stored = repo.sdk.objects_api.stat_object(repo.id, "main", "a b/é+1.csv")
    assert stored.size_bytes == 100_000
    assert stored.content_type.startswith("text/csv")
    assert stored.metadata["X-Amz-Meta-mtime"].startswith("1600000000.25")
    assert stored.metadata["Cache-Control"] == "no-store"
    assert repo.get("a b/é+1.csv") == content
    rclone("copyto", there, "back.csv")
    assert (home / "back.csv").read_bytes() == content
    assert (home / "back.csv").stat().st_mtime == 1_600_000_000.25


def test_streams(rclone, repo):
    rclone("rcat", f"lake:{repo.id}/main/stream", send=b"from a stream")
    assert repo.get("stream") == b"from a stream"
    there = f"lake:{repo.id}/main/stream"
    assert rclone("cat", there, "--offset", "5", "--count", "1").bytes == b"a"


def test_synchronizing_transfers_only_what_changed(rclone, repo, tree, home, contents):
    there = f"lake:{repo.id}/main/tree"
    assert len(copied(rclone("sync", "-v", tree, there))) == 4
    assert copied(rclone("sync", "-v", tree, there)) == []
    assert copied(rclone("sync", "-v", "--checksum", tree, there)) == []
    rclone("check", tree, there)
    rclone("check", "--download", tree, there)
    (tree / "one.csv").write_bytes(b"3\n")
    (tree / "deep" / "empty").unlink()
    differs = rclone.attempt("check", tree, there)
    assert differs.status == 1
    assert "2 differences found" in differs.errors
    assert copied(rclone("sync", "-v", "--checksum", tree, there)) == [
        ("deep/empty", "Deleted"),
        ("one.csv", "Copied (replaced"),
    ]
    repo.commit()
    assert len(copied(rclone("sync", "-v", there, "copy"))) == 3
    assert contents(home / "copy") == contents(tree)
    assert copied(rclone("sync", "-v", "copy", there)) == []
    other = f"lake:{repo.id}/main/other"
    assert {how for _, how in copied(rclone("sync", "-v", there, other))} == {"Copied (server-side"}
    assert copied(rclone("sync", "-v", there, other)) == []
    assert len(repo.paths()) == 6


def test_listings(rclone, stocked, past):
    listed = rclone("lsf", "--recursive", "--files-only", f"lake:{stocked}/main/many").lines
    assert listed == [f"of-{number:04}" for number in range(1_100)]
    assert rclone("lsf", f"lake:{stocked}/main").lines == ["many/", "plain"]
    past.branch("dev")
    assert rclone("lsf", f"lake:{past.id}").lines == ["dev/", "main/"]
    assert f"{past.id}/" in rclone("lsf", "lake:").lines
    response = json.loads(rclone("lsjson", "--hash", "--metadata", f"lake:{past.id}/main").bytes)
    assert (
        response[0]["Hashes"]["md5"]
        == past.sdk.objects_api.stat_object(past.id, "main", "depth.csv").checksum
    )
    sizes = json.loads(rclone("size", "--json", f"lake:{stocked}/main").bytes)
    assert (sizes["count"], sizes["bytes"]) == (1_101, 13_205)


def test_copying_moving_and_deleting(rclone, repo):
    repo.put("a", b"content")
    here = f"lake:{repo.id}/main"
    rclone("copyto", f"{here}/a", f"{here}/b/c")
    rclone("moveto", f"{here}/a", f"{here}/d")
    assert repo.paths() == ["b/c", "d"]
    assert repo.get("d") == b"content"
    rclone("touch", "--timestamp", "2020-09-13T12:26:40", f"{here}/d")
    assert rclone("lsl", f"{here}/d").out.split()[1:] == ["2020-09-13", "12:26:40.000000000", "d"]
    rclone("deletefile", f"{here}/d")
    assert repo.paths() == ["b/c"]
    repo.put("b/d")
    repo.put("bc")
    rclone("purge", f"{here}/b")
    assert repo.paths() == ["bc"]


def test_presigned_urls(rclone, repo, fetch):
    repo.put("a b/c+d.txt", b"shared")
    url = rclone("link", "--expire", "1m", f"lake:{repo.id}/main/a b/c+d.txt").out.strip()
    assert fetch(url) == (200, b"shared")
    status, body = fetch(url.replace("d.txt", "e.txt"))
    assert status == 403
    assert b"<Code>SignatureDoesNotMatch</Code>" in body


def test_reading_the_past_and_not_writing_it(rclone, past, home):
    for ref in ("v1", past.first, "main~1"):
        assert rclone("cat", f"lake:{past.id}/{ref}/depth.csv").out == "Mariana,10935\n"
        assert rclone("lsf", f"lake:{past.id}/{ref}").lines == ["depth.csv"]
    (home / "new").write_bytes(b"new")
    refused = rclone.attempt("copyto", "new", f"lake:{past.id}/v1/new")
    assert "NoSuchBucket: branch 'v1' not found" in refused.errors
    refused = rclone.attempt("deletefile", f"lake:{past.id}/v1/depth.csv")
    assert "MethodNotAllowed" in refused.errors
    assert past.paths("v1") == ["depth.csv"]


def test_missing_resource(rclone, repo):
    missing = rclone.attempt("deletefile", f"lake:{repo.id}/main/none")
    assert missing.status == 1
    assert "is a directory or doesn't exist" in missing.errors
    unknown = rclone.attempt("ls", "lake:no-such-repository")
    assert unknown.status == 3
    assert "directory not found" in unknown.errors


@pytest.mark.slow  # test_s3cmd.py, with both signatures
def test_keys_that_are_wrong(rclone, repo):
    there = f"lake:{repo.id}/main"
    for version in ([], ["--s3-v2-auth"]):
        refused = rclone.attempt("--s3-secret-access-key=wrong", *version, "ls", there)
        assert "SignatureDoesNotMatch" in refused.errors
        refused = rclone.attempt("--s3-access-key-id=wrong", *version, "ls", there)
        assert "InvalidAccessKeyId" in refused.errors
        assert rclone(*version, "ls", there).out == ""


def test_a_large_file(rclone, repo, stat, large_file, large, home):
    parts = ("--s3-upload-cutoff=5Mi", "--s3-chunk-size=5Mi", "--s3-copy-cutoff=5Mi", "-v")
    here = f"lake:{repo.id}/main"
    assert len(copied(rclone(*parts, "copy", "large.bin", here))) == 1
    assert repo.get("large.bin") == large
    assert stat("large.bin").checksum.endswith("-3")
    assert copied(rclone(*parts, "copy", "--checksum", "large.bin", here)) == []
    assert copied(rclone(*parts, "copyto", f"{here}/large.bin", f"{here}/copy.bin")) == [
        ("large.bin", "Copied (server-side")
    ]
    assert stat("copy.bin").checksum == stat("large.bin").checksum
    rclone("copyto", f"{here}/copy.bin", "back.bin")
    assert (home / "back.bin").read_bytes() == large
    rclone(*parts, "rcat", f"{here}/stream", send=large)
    assert rclone("cat", f"{here}/stream").bytes == large
    rclone("check", "--download", large_file, here)
