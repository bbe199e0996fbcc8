"""Objects over HTTP: uploads, reads, listings, copies, stats and deletions."""

from __future__ import annotations

import hashlib
import os
import time
from email.utils import parsedate_to_datetime

import pytest

LARGE = os.urandom(3 * 1024 * 1024 + 17)


@pytest.fixture
def branch(repository):
    return f"/repositories/{repository}/branches/main"


@pytest.fixture
def ref(repository):
    return f"/repositories/{repository}/refs/main"


def put(api, branch, path, content=b"abc", **headers):
    return api.post(f"{branch}/objects", params={"path": path}, content=content, headers=headers)


def get(api, ref, path, **headers):
    return api.get(f"{ref}/objects", params={"path": path}, headers=headers)


def stat(api, ref, path, **params):
    return api.get(f"{ref}/objects/stat", params={"path": path} | params)


def listed(api, ref, **params):
    return [item["path"] for item in api.get(f"{ref}/objects/ls", params=params).json()["results"]]


def test_an_upload_returns_the_stat_of_the_object(api, branch, ref):
    created = put(
        api, branch, "a/abc", **{"content-type": "text/x-abc", "x-lakefs-meta-Kind": "green"}
    )
    assert created.status_code == 201
    fields = created.json()
    address, mtime = fields["physical_address"], fields["mtime"]
    assert abs(mtime - time.time()) < 60
    assert address.startswith("local:///")
    assert created.text == (
        f'{{"checksum":"{hashlib.md5(b"abc").hexdigest()}","content_type":"text/x-abc",'
        f'"metadata":{{"kind":"green"}},"mtime":{mtime},"path":"a/abc","path_type":"object",'
        f'"physical_address":"{address}","size_bytes":3}}\n'
    )
    assert stat(api, ref, "a/abc").text == created.text
    assert stat(api, ref, "a/abc", user_metadata="false").json()["metadata"] == {}
    assert stat(api, ref.replace("main", "main@"), "a/abc").status_code == 404


def test_user_metadata_is_read_from_headers(api, branch):
    headers = [
        ("X-Lakefs-Internal-Client-Mtime", "17"),
        ("X-Lakefs-Meta-Value", "ü".encode()),
        ("X-Lakefs-Meta-Twice", "1"),
        ("X-Lakefs-Meta-Twice", "2"),
    ]
    created = api.post(f"{branch}/objects", params={"path": "a"}, content=b"", headers=headers)
    assert created.json()["metadata"] == {
        "::lakefs::client-mtime": "17",
        "twice": "1,2",
        "value": "ü",
    }


@pytest.mark.parametrize(
    ("content_type", "stored"), [("text/html", "text/html"), (None, "application/octet-stream")]
)
def test_an_upload_may_be_a_form(api, branch, ref, content_type, stored):
    file = ("n", LARGE) if content_type is None else ("n", LARGE, content_type)
    created = api.post(f"{branch}/objects", params={"path": "form"}, files={"content": file})
    assert created.status_code == 201
    assert created.json()["size_bytes"] == len(LARGE)
    if content_type is not None:
        assert created.json()["content_type"] == stored
    assert get(api, ref, "form").content == LARGE


def test_a_form_without_content_is_refused(api, branch, ref):
    refused = api.post(f"{branch}/objects", params={"path": "form"}, files={"file": ("n", b"x")})
    assert refused.status_code == 400
    assert refused.json() == {"message": "multipart form: no part named content"}
    assert stat(api, ref, "form").status_code == 404


def test_a_body_may_be_chunked(api, branch, ref):
    def pieces():
        for start in range(0, len(LARGE), 100_000):
            yield LARGE[start : start + 100_000]

    created = put(api, branch, "chunked", pieces())
    assert created.json()["checksum"] == hashlib.md5(LARGE).hexdigest()
    assert get(api, ref, "chunked").content == LARGE


def test_an_empty_object_can_be_stored(api, branch, ref):
    assert put(api, branch, "empty/", b"").json()["size_bytes"] == 0
    got = get(api, ref, "empty/")
    assert (got.status_code, got.content, got.headers["content-length"]) == (200, b"", "0")
    assert get(api, ref, "empty/", range="bytes=0-").status_code == 416


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"if-none-match": "*"}, 412, "path already exists"),
        ({"if-none-match": '"x"'}, 501, "Not Implemented"),
        ({"if-match": '"x"'}, 501, "Not Implemented"),
        ({"if-match": '"x"', "if-none-match": "*"}, 501, "Not Implemented"),
    ],
)
def test_if_none_match_prevents_overwriting(api, branch, ref, headers, status, message):
    assert put(api, branch, "a", b"1", **{"if-none-match": "*"}).status_code == 201
    refused = put(api, branch, "a", b"2", **headers)
    assert (refused.status_code, refused.json()) == (status, {"message": message})
    assert get(api, ref, "a").content == b"1"


def test_an_upload_to_a_missing_branch_or_without_a_path_is_refused(api, branch):
    nope = put(api, branch.replace("main", "nope"), "a")
    assert (nope.status_code, nope.json()) == (404, {"message": "branch 'nope' not found"})
    missing = api.post(f"{branch}/objects", content=b"x")
    assert missing.json() == {
        "message": 'parameter "path" in query has an error: value is required but missing'
    }
    empty = put(api, branch, "")
    assert empty.json() == {
        "message": 'parameter "path" in query has an error: empty value is not allowed'
    }


def test_an_object_is_read_with_its_headers(api, branch, ref):
    put(api, branch, "page", b"<p>", **{"content-type": "text/html"})
    got = get(api, ref, "page")
    etag = f'"{hashlib.md5(b"<p>").hexdigest()}"'
    modified = got.headers["last-modified"]
    assert abs(parsedate_to_datetime(modified).timestamp() - time.time()) < 60
    wanted = {
        "etag": etag,
        "content-type": "text/html",
        "content-length": "3",
        "content-disposition": "inline",
        "cache-control": "no-store, must-revalidate",
        "expires": "0",
        "x-content-type-options": "nosniff",
        "x-frame-options": "SAMEORIGIN",
        "content-security-policy": "default-src 'none'; sandbox",
    }
    assert {name: got.headers.get(name) for name in wanted} == wanted
    assert not [name for name in got.headers if name.startswith("x-lakefs")]
    head = api.head(f"{ref}/objects", params={"path": "page"})
    del wanted["content-disposition"]
    assert head.status_code == 200
    assert {name: head.headers.get(name) for name in wanted} == wanted
    assert "content-disposition" not in head.headers
    unchanged = get(api, ref, "page", **{"if-none-match": etag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert get(api, ref, "page", **{"if-none-match": "*"}).status_code == 200


def test_unusual_content_types_are_valid_headers(api, branch, ref):
    body = {
        "physical_address": put(api, branch, "a").json()["physical_address"],
        "checksum": 'q"\r\nx: y',
        "size_bytes": 3,
        "content_type": "text/\r\nx-bad: ü",
        "mtime": -62135596800,
    }
    assert api.put(f"{branch}/objects", params={"path": "b"}, json=body).status_code == 201
    got = get(api, ref, "b")
    assert (got.status_code, got.content) == (200, b"abc")
    assert "x-bad" not in got.headers
    assert got.headers["last-modified"] == "Mon, 01 Jan 0001 00:00:00 GMT"


@pytest.mark.parametrize("content", [b"0123456789", LARGE], ids=["small", "large"])
def test_ranges_of_an_object_are_read(api, branch, ref, content):
    put(api, branch, "a", content)
    size = len(content)
    for header, start, end in (
        ("bytes=2-5", 2, 6),
        ("bytes=3-", 3, size),
        ("bytes=-4", size - 4, size),
        (f"bytes=1-{size * 9}", 1, size),
        (f"bytes=-{size * 9}", 0, size),
    ):
        got = get(api, ref, "a", range=header)
        assert got.status_code == 206
        assert got.content == content[start:end]
        assert got.headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
        head = api.head(f"{ref}/objects", params={"path": "a"}, headers={"range": header})
        assert head.status_code == 206
        assert head.headers["content-length"] == str(end - start)
        assert head.headers["content-range"] == got.headers["content-range"]
    for header in (f"bytes={size}-", "bytes=5-2", "bytes=0-1,3-4", "bytes=-0"):
        refused = get(api, ref, "a", range=header)
        assert refused.status_code == 416
        assert refused.json() == {"message": "Requested Range Not Satisfiable"}
        assert refused.headers["content-range"] == f"bytes */{size}"
    assert get(api, ref, "a", range="bytes=x").status_code == 400
    assert get(api, ref, "a", range="lines=1-2").status_code == 400


def test_a_missing_object_is_not_found(api, ref, repository):
    for path in (f"{ref}/objects", f"{ref}/objects/stat", f"{ref}/objects/underlyingProperties"):
        for place in (path, path.replace("/refs/main", "/refs/nope")):
            response = api.get(place, params={"path": "nope"})
            assert (response.status_code, response.json()) == (404, {"message": "not found"})
        elsewhere = api.get(path.replace(repository, "no-such"), params={"path": "nope"})
        assert elsewhere.json() == {"message": "repository not found"}
    head = api.head(f"{ref}/objects", params={"path": "nope"})
    assert (head.status_code, head.content) == (404, b"")
    assert api.get(f"{ref}/objects/ls".replace("main", "nope")).status_code == 404


def test_objects_are_listed_in_pages(api, branch, ref):
    for path in ("a/1", "a/2", "b", "c/d/e"):
        put(api, branch, path, **({"x-lakefs-meta-k": "v"} if path == "b" else {}))
    assert listed(api, ref) == ["a/1", "a/2", "b", "c/d/e"]
    assert listed(api, ref, prefix="a/") == ["a/1", "a/2"]
    assert listed(api, ref, after="a/2") == ["b", "c/d/e"]
    assert listed(api, ref, delimiter="/") == ["a/", "b", "c/"]
    assert listed(api, ref, delimiter="/", after="a/") == ["b", "c/"]
    assert listed(api, ref, delimiter="/", prefix="c/") == ["c/d/"]
    page = api.get(f"{ref}/objects/ls", params={"delimiter": "/", "amount": 1})
    assert page.text == (
        '{"pagination":{"has_more":true,"max_per_page":1000,"next_offset":"a/","results":1},'
        '"results":[{"checksum":"","mtime":0,"path":"a/","path_type":"common_prefix",'
        '"physical_address":"","size_bytes":0}]}\n'
    )
    items = api.get(f"{ref}/objects/ls", params={"prefix": "b"}).json()["results"]
    assert items == [stat(api, ref, "b").json()]
    bare = api.get(f"{ref}/objects/ls", params={"prefix": "b", "user_metadata": "false"})
    assert "metadata" not in bare.json()["results"][0]
    api.post(f"{branch}/commits", json={"message": "all"})
    assert listed(api, ref.replace("main", "main@")) == ["a/1", "a/2", "b", "c/d/e"]


def test_deleted_objects_do_not_exist(api, branch, ref):
    for path in ("a", "b", "c"):
        put(api, branch, path)
    api.post(f"{branch}/commits", json={"message": "all"})
    for _ in range(2):
        response = api.delete(f"{branch}/objects", params={"path": "a"})
        assert (response.status_code, response.content) == (204, b"")
    assert get(api, ref, "a").status_code == 404
    many = api.post(f"{branch}/objects/delete", json={"paths": ["b", "no-such", ""]})
    assert many.status_code == 200
    assert [error["path"] for error in many.json()["errors"]] == [""]
    assert many.json()["errors"][0]["status_code"] == 400
    assert listed(api, ref) == ["c"]
    too_many = api.post(f"{branch}/objects/delete", json={"paths": ["x"] * 1001})
    assert (too_many.status_code, too_many.json()) == (
        400,
        {"message": "request size exceeded, max paths is set to 1000"},
    )
    assert api.delete(f"{branch}/objects").status_code == 400
    nope = api.delete(f"{branch}/objects".replace("main", "nope"), params={"path": "a"})
    assert nope.status_code == 404


def test_a_copy_has_the_content_of_its_source(api, branch, ref):
    original = put(
        api, branch, "a", **{"content-type": "text/x-abc", "x-lakefs-meta-k": "v"}
    ).json()
    copied = api.post(f"{branch}/objects/copy", params={"dest_path": "b"}, json={"src_path": "a"})
    assert copied.status_code == 201
    same = ("checksum", "content_type", "metadata", "size_bytes")
    assert {name: copied.json()[name] for name in same} == {name: original[name] for name in same}
    assert copied.json()["physical_address"] != original["physical_address"]
    assert get(api, ref, "b").content == b"abc"

    def copy(**body):
        return api.post(f"{branch}/objects/copy", params={"dest_path": "c"}, json=body)

    assert copy(src_path="nope").status_code == 404
    assert copy(src_path="a", src_ref="nope").status_code == 404
    assert copy(src_path="a", src_ref="main@").status_code == 404
    assert copy().status_code == 400
    assert listed(api, ref) == ["a", "b"]
    shallow = copy(src_path="a", shallow=True)
    assert shallow.status_code == 201
    assert shallow.json()["physical_address"] == original["physical_address"]


def test_user_metadata_is_replaced(api, branch, ref):
    put(api, branch, "a", **{"x-lakefs-meta-k": "v"})
    path = f"{branch}/objects/stat/user_metadata"
    response = api.put(path, params={"path": "a"}, json={"set": {"new": "1"}})
    assert (response.status_code, response.content) == (204, b"")
    assert stat(api, ref, "a").json()["metadata"] == {"new": "1"}
    assert api.put(path, params={"path": "b"}, json={"set": {}}).status_code == 404
    assert api.put(path, params={"path": "a"}, json={"set": {"n": 1}}).status_code == 400


def test_underlying_properties_and_preflights_are_served(api, branch, ref):
    put(api, branch, "a")
    properties = api.get(f"{ref}/objects/underlyingProperties", params={"path": "a"})
    assert properties.json() == {"storage_class": None}
    allowed = api.get(f"{branch}/objects/stage_allowed", params={"path": "b"})
    assert (allowed.status_code, allowed.content) == (204, b"")
    nope = branch.replace("main", "nope")
    assert api.get(f"{nope}/objects/stage_allowed", params={"path": "b"}).status_code == 404


@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=0-0"}])
def test_reads_announce_that_ranges_are_accepted(api, repository, headers):
    home = f"/repositories/{repository}"
    api.post(f"{home}/branches/main/objects", params={"path": "a"}, content=b"abc")
    for method in ("GET", "HEAD"):
        response = api.request(
            method, f"{home}/refs/main/objects", params={"path": "a"}, headers=headers
        )
        assert response.headers["accept-ranges"] == "bytes"


def test_user_metadata_that_s3_could_not_send_is_refused(api, branch, ref):
    put(api, branch, "a")
    change = {"set": {"X-Amz-Meta-k": "v" * 70_000}}
    response = api.put(f"{branch}/objects/stat/user_metadata?path=a", json=change)
    assert response.status_code == 400
    assert response.headers["X-Anabranch-Kind"] == "metadata_too_large"
    assert put(api, branch, "b", **{"X-LakeFS-Meta-k": "v" * 3000}).status_code == 400
    assert stat(api, ref, "b").status_code == 404
    assert stat(api, ref, "a").json()["metadata"] == {}
