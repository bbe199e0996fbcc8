"""Writes to read-only resources, and invalid names."""

from __future__ import annotations

import pytest

COPY = {"x-amz-copy-source": "/sea/main/abc"}
TAGS = b"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"


def writes(wire, ref, bucket="sea"):
    """Yields every way to write to an object at a reference, with its name."""
    new, old = f"/{bucket}/{ref}/new", f"/{bucket}/{ref}/abc"
    yield "put", wire.request("PUT", new, b"x")
    yield "put over", wire.request("PUT", old, b"x")
    yield "put on condition", wire.request("PUT", new, b"x", {"If-None-Match": "*"})
    yield "put long", wire.request("PUT", new, b"x" * 3_000_000)
    yield "copy", wire.request("PUT", new, b"", COPY)
    yield "begin an upload", wire.request("POST", f"{new}?uploads=")


@pytest.mark.parametrize("ref", ["v1.0", "COMMIT", "SHORT", "main~0", "main^0", "main@", "main$"])
@pytest.mark.sample(1)
def test_only_branches_are_written_to(wire, ref):
    ref = {"COMMIT": wire.commit, "SHORT": wire.commit[:12]}.get(ref, ref)
    for name, raw in writes(wire, ref.replace("^", "%5E")):
        before = wire.state(), wire.files()
        reply = wire.send(raw)
        assert (name, reply.status, b"<Code>NoSuchBucket</Code>" in reply.body) == (name, 404, True)
        wire.nothing_came_of_it(before)
    if ref[-1] not in "@$":
        raw = wire.request("DELETE", f"/sea/{ref.replace('^', '%5E')}/abc")
        wire.refuses(raw, 405, "MethodNotAllowed")


def test_a_protected_branch_takes_nothing(wire):
    for _, raw in writes(wire, "locked"):
        wire.refuses(raw, 403, "AccessDenied")
    for raw in (
        wire.request("DELETE", "/sea/locked/abc"),
        wire.request("PUT", "/sea/locked/abc?tagging=", TAGS),
        wire.request("DELETE", "/sea/locked/abc?tagging="),
    ):
        wire.refuses(raw, 403, "AccessDenied")


def test_a_read_only_repository_takes_nothing(wire):
    for _, raw in writes(wire, "main", "fixed"):
        wire.refuses(raw, 403, "AccessDenied")
    wire.refuses(wire.request("DELETE", "/fixed/main/abc"), 403, "AccessDenied")


def test_missing_resource_returns_not_found(wire):
    for _, raw in writes(wire, "none"):
        wire.refuses(raw, 404, "NoSuchBucket")
    for _, raw in writes(wire, "main", "nowhere"):
        wire.refuses(raw, 404, "NoSuchBucket")
    for path in ("/sea/main/none", "/sea/none/abc", "/sea/none/", "/sea/main"):
        wire.refuses(wire.request("GET", path), 404, "NoSuchKey")


def test_a_path_may_be_the_beginning_of_others(wire):
    """There are no folders: `folder`, `folder/` and `folder/leaf` are three objects."""
    for path in ("folder", "folder/", "folder/leaf/more", "abc/"):
        target = f"/sea/main/{path}"
        assert wire.send(wire.request("PUT", target, path.encode())).status == 200
        assert wire.send(wire.request("GET", target)).body == path.encode()
        assert wire.send(wire.request("GET", "/sea/main/folder/leaf")).body == b"0123456789"
        assert wire.send(wire.request("DELETE", target)).status == 204
    assert wire.send(wire.request("GET", "/sea/main/abc")).body == b"0123456789"


@pytest.mark.sample(1)
@pytest.mark.parametrize("key", ["x" * 1025, "ü" * 513, "a/" * 513, "%F0%9F%98%80" * 257])
def test_keys_that_are_too_long(wire, key):
    path = f"/sea/main/{key.replace('ü', '%C3%BC')}"
    for _, raw in writes(wire, "main"):
        wire.refuses(resigned(wire, raw, path), 400, "KeyTooLongError")
    wire.refuses(wire.request("DELETE", path), 400, "KeyTooLongError")
    wire.refuses(wire.request("GET", path), 400, "KeyTooLongError")


def resigned(wire, raw, path):
    """Returns a request for another path."""
    method, target = raw.split(b" ")[:2]
    query = b"?uploads=" if b"uploads" in target else b""
    copying = COPY if b"x-amz-copy-source" in raw else {}
    return wire.request(method.decode(), path + query.decode(), b"", copying)


def test_the_longest_key_is_taken(wire):
    path = "/sea/main/" + "x" * 1024
    assert wire.send(wire.request("PUT", path, b"x")).status == 200
    assert wire.send(wire.request("DELETE", path)).status == 204


@pytest.mark.parametrize(
    "path", ["/sea/main/%ff", "/sea/main/a%C3", "/%ff/main/abc", "/sea/%ED%A0%80/a"]
)
def test_keys_that_are_no_text(wire, path):
    for method in ("PUT", "GET", "DELETE"):
        body = b"x" if method == "PUT" else b""
        wire.refuses(wire.request(method, path, body), 400, "InvalidURI")


@pytest.mark.parametrize(
    "name", ["Sea", "s", "se", "sea_", "-sea", "sea-", "s" * 64, "..", "a%20b"]
)
@pytest.mark.sample(1)
def test_invalid_bucket_name_is_rejected(wire, name):
    for method, path in (
        ("GET", f"/{name}"),
        ("GET", f"/{name}?list-type=2"),
        ("GET", f"/{name}/main/abc"),
        ("PUT", f"/{name}/main/new"),
        ("DELETE", f"/{name}/main/abc"),
        ("POST", f"/{name}/main/abc?uploads="),
    ):
        raw = wire.request(method, path, b"x" if method == "PUT" else b"")
        wire.refuses(raw, 400, "InvalidBucketName")


@pytest.mark.parametrize("name", ["nowhere", "with.dots", "0123"])
def test_valid_name_of_missing_bucket_returns_no_such_bucket(wire, name):
    wire.refuses(wire.request("GET", f"/{name}/main/abc"), 404, "NoSuchBucket")


def test_buckets_are_made_where_the_settings_say_and_nowhere_else(wire):
    wire.refuses(wire.request("PUT", "/another"), 501, "NotImplemented")
    wire.refuses(wire.request("PUT", "/sea"), 409, "BucketAlreadyExists")
    wire.refuses(wire.request("DELETE", "/sea"), 405, "MethodNotAllowed")


@pytest.mark.parametrize(
    ("source", "status", "code"),
    [
        ("", 400, "InvalidArgument"),
        ("/", 400, "InvalidArgument"),
        ("sea", 400, "InvalidArgument"),
        ("sea/main", 400, "InvalidArgument"),
        ("/sea/main/none", 404, "NoSuchKey"),
        ("/sea/none/abc", 404, "NoSuchKey"),
        ("/nowhere/main/abc", 404, "NoSuchBucket"),
        ("/sea/main/%ff", 400, "InvalidURI"),
        ("/sea/main/abc?versionId=7", 404, "NoSuchVersion"),
        ("/sea/main/" + "x" * 1025, 400, "KeyTooLongError"),
    ],
)
@pytest.mark.sample(5)
def test_sources_that_cannot_be_copied(wire, source, status, code):
    raw = wire.request("PUT", "/sea/main/new", b"", {"x-amz-copy-source": source})
    if source:
        wire.refuses(raw, status, code)
    else:
        before = wire.state(), wire.files()
        assert wire.send(raw).status == status
        wire.nothing_came_of_it(before)
