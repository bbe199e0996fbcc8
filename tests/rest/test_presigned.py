"""Presigned URLs over the wire: of a server on a folder that is set to sign its own."""

from __future__ import annotations

import hashlib
import itertools
import time
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from anabranch.testing.server import running_server

BODY = bytes(range(256)) * 4000
MD5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()


_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(presigning_server):
    return presigning_server


@pytest.fixture(scope="module")
def api(server):
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=30) as client:
        yield client


@pytest.fixture
def repository(api):
    name = f"presigned-{next(_numbers)}"
    body = {"name": name, "storage_namespace": f"local://{name}"}
    assert api.post("/repositories", json=body).status_code == 201
    return name


@pytest.fixture
def branch(repository):
    return f"/repositories/{repository}/branches/main"


@pytest.fixture
def ref(repository):
    return f"/repositories/{repository}/refs/main"


@pytest.fixture
def url(api, branch, ref):
    """A URL to read `a`."""
    put = api.post(f"{branch}/objects", params={"path": "a"}, content=BODY)
    assert put.status_code == 201
    stat = api.get(f"{ref}/objects/stat", params={"path": "a", "presign": "true"}).json()
    assert 0 < stat["physical_address_expiry"] - time.time() <= 900
    return stat["physical_address"]


def place(api, branch, path="new"):
    """Returns where to store an object's bytes, with a URL."""
    given = api.get(f"{branch}/staging/backing", params={"path": path, "presign": "true"}).json()
    assert 0 < given["presigned_url_expiry"] - time.time() <= 900
    return given


def changed(url, **parameters):
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()} | parameters
    return parts._replace(query=urlencode(query)).geturl()


def refused(answer, status=403):
    assert answer.status_code == status
    assert set(answer.json()) == {"message"}
    return answer.json()["message"]


def test_reading(server, url):
    assert url.startswith(f"{server.url}/_signed/")
    got = httpx2.get(url)
    assert (got.status_code, got.content) == (200, BODY)
    assert got.headers["accept-ranges"] == "bytes"
    assert "x-request-id" in got.headers


@pytest.mark.parametrize(
    ("wanted", "start", "end"),
    [("0-0", 0, 1), ("1000-", 1000, len(BODY)), ("-5", -5, None), ("9-9999999", 9, len(BODY))],
)
def test_ranges(url, wanted, start, end):
    got = httpx2.get(url, headers={"Range": f"bytes={wanted}"})
    assert (got.status_code, got.content) == (206, BODY[start:end])
    first = start % len(BODY)
    last = (end or len(BODY)) - 1
    assert got.headers["content-range"] == f"bytes {first}-{last}/{len(BODY)}"


def test_ranges_that_are_none(url):
    assert httpx2.get(url, headers={"Range": "lines=1-2"}).content == BODY
    assert httpx2.get(url, headers={"Range": f"bytes={len(BODY)}-"}).status_code == 416


def test_nothing_runs_in_the_origin_of_the_server(api, branch, ref):
    page = b"<script>alert(1)</script>"
    put = api.post(
        f"{branch}/objects",
        params={"path": "a.html"},
        content=page,
        headers={"Content-Type": "text/html"},
    )
    assert put.status_code == 201
    stat = api.get(f"{ref}/objects/stat", params={"path": "a.html", "presign": "true"}).json()
    got = httpx2.get(stat["physical_address"])
    assert got.content == page
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.headers["content-disposition"] == "attachment"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-security-policy"].endswith("sandbox")


def test_a_url_permits_one_thing(api, branch, url, ref):
    for method in ("PUT", "POST", "DELETE", "HEAD"):
        assert httpx2.request(method, url, content=b"x").status_code in {403, 404}
    other = api.post(f"{branch}/objects", params={"path": "b"}, content=b"b")
    address = api.get(f"{ref}/objects/stat", params={"path": "b"}).json()["physical_address"]
    assert other.status_code == 201
    assert "signature" in refused(httpx2.get(changed(url, address=address)))
    assert "signature" in refused(httpx2.get(changed(url, expires="99999999999")))
    assert "signature" in refused(httpx2.get(changed(url, signature="0" * 64)))
    assert "signature" in refused(httpx2.get(changed(url, part="1", upload="x")))
    refused(httpx2.get(url.partition("?")[0]), 400)
    refused(httpx2.get(changed(url, expires="soon")), 400)
    assert httpx2.get(url).content == BODY


def test_reading_and_listing_send_to_such_urls(api, branch, ref, url):
    sent = api.get(f"{ref}/objects", params={"path": "a", "presign": "true"})
    assert (sent.status_code, sent.content) == (302, b"")
    assert httpx2.get(sent.headers["location"]).content == BODY
    assert api.post(f"{branch}/objects", params={"path": "d/e"}, content=b"e").is_success
    plain = api.get(f"{ref}/objects/ls", params={"delimiter": "/"}).json()
    signed = api.get(f"{ref}/objects/ls", params={"delimiter": "/", "presign": "true"}).json()
    assert signed["pagination"] == plain["pagination"]
    (a, folder), (signed_a, signed_folder) = plain["results"], signed["results"]
    assert signed_folder == folder
    assert httpx2.get(signed_a.pop("physical_address")).content == BODY
    assert abs(signed_a.pop("physical_address_expiry") - time.time()) <= 900
    a.pop("physical_address")
    assert signed_a == a
    assert url


def test_tables_too(api, repository, branch, url):
    assert url
    commit = api.post(f"{branch}/commits", json={"message": "m"}).json()["meta_range_id"]
    table = f"/repositories/{repository}/metadata/object/meta_range/{commit}"
    sent = api.get(table, params={"presign": "true"})
    assert sent.status_code == 302
    assert httpx2.get(sent.headers["location"]).content == api.get(table).content


def test_storing(api, branch, ref):
    given = place(api, branch)
    put = httpx2.put(given["presigned_url"], content=BODY, headers={"Content-Type": "text/x-sea"})
    assert (put.status_code, put.headers["etag"]) == (200, f'"{MD5}"')
    assert httpx2.get(given["presigned_url"]).status_code == 403
    staged = {
        "staging": {"physical_address": given["physical_address"]},
        "checksum": MD5,
        "size_bytes": len(BODY),
    }
    linked = api.put(f"{branch}/staging/backing", params={"path": "new"}, json=staged)
    assert linked.status_code == 200
    assert api.get(f"{ref}/objects", params={"path": "new"}).content == BODY


def test_what_is_stored_stays(api, branch):
    url = place(api, branch)["presigned_url"]
    assert httpx2.put(url, content=BODY).status_code == 200
    assert httpx2.put(url, content=BODY).headers["etag"] == f'"{MD5}"'
    refused(httpx2.put(url, content=BODY[:-1] + b"x"), 409)
    refused(httpx2.put(url, content=b""), 409)
    assert httpx2.put(url, content=BODY).status_code == 200


def test_parts(api, branch, ref):
    place = f"{branch}/staging/pmpu"
    begun = api.post(place, params={"path": "big", "parts": 1})
    assert begun.status_code == 201
    upload = begun.json()
    parts = [b"a" * (5 << 20), b"b" * 1000]
    query = {"path": "big"}
    more = api.put(f"{place}/{upload['upload_id']}/parts/2", params=query, json={})
    urls = [*upload["presigned_urls"], more.json()["presigned_url"]]
    etags = [
        httpx2.put(url, content=part).headers["etag"] for url, part in zip(urls, parts, strict=True)
    ]
    body = {
        "physical_address": upload["physical_address"],
        "parts": [{"part_number": number, "etag": etag} for number, etag in enumerate(etags, 1)],
        "user_metadata": {"k": "v"},
        "content_type": "text/x-sea",
    }
    end = f"{place}/{upload['upload_id']}"
    wrong = body | {"physical_address": body["physical_address"] + "x"}
    assert refused(api.put(end, params=query, json=wrong), 400)
    assert refused(api.put(end, params=query, json=body | {"parts": body["parts"][::-1]}), 400)
    assert refused(api.put(end, params=query, json=body | {"parts": []}), 400)
    assert refused(httpx2.put(changed(urls[0], part="2"), content=b"x"))
    for _ in range(2):  # whose answer was lost asks again
        done = api.put(end, params=query, json=body)
        assert done.status_code == 200, done.text
        assert (done.json()["size_bytes"], done.json()["metadata"]) == (
            len(b"".join(parts)),
            {"k": "v"},
        )
    assert api.get(f"{ref}/objects", params=query).content == b"".join(parts)
    assert httpx2.put(urls[0], content=parts[0]).status_code == 404


def test_copied_parts_and_giving_up(api, branch, ref, repository, url):
    assert url
    place, query = f"{branch}/staging/pmpu", {"path": "copy"}
    upload = api.post(place, params=query).json()
    assert "presigned_urls" not in upload
    source = {"repository": repository, "ref": "main", "path": "a", "range": "bytes=10-19"}
    part = f"{place}/{upload['upload_id']}/parts/1/copy"
    copied = api.put(part, params=query, json={"copy_source": source})
    assert copied.status_code == 204
    md5 = hashlib.md5(BODY[10:20], usedforsecurity=False).hexdigest()
    assert copied.headers["etag"] == f'"{md5}"'
    missing = api.put(part, params=query, json={"copy_source": source | {"path": "none"}})
    refused(missing, 404)
    end = f"{place}/{upload['upload_id']}"
    body = {"physical_address": upload["physical_address"]}
    assert api.request("DELETE", end, params=query, json=body).status_code == 204
    refused(api.request("DELETE", end, params=query, json=body), 404)
    assert api.get(f"{ref}/objects", params=query).status_code == 404


def test_commits_for_garbage_collection(api, repository, url):
    assert url
    rules = {"default_retention_days": 1, "branches": []}
    assert api.put(f"/repositories/{repository}/settings/gc_rules", json=rules).is_success
    body = api.post(f"/repositories/{repository}/gc/prepare_commits").json()
    file = Path(body["gc_commits_location"].removeprefix("local://"))
    assert httpx2.get(body["gc_commits_presigned_url"]).text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("parts", [-1, 10_001])
def test_too_many_parts(api, branch, parts):
    refused(api.post(f"{branch}/staging/pmpu", params={"path": "a", "parts": parts}), 400)


def test_urls_expire_and_name_the_address_that_the_settings_say(tmp_path):
    env = {
        "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_EXPIRY": "1s",
        "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_ENDPOINT": "https://lake.example.com/",
    }
    with running_server(tmp_path, env=env) as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            body = {"name": "sea", "storage_namespace": "local://sea"}
            assert api.post("/repositories", json=body).is_success
            given = place_soon(api)
        beginning = "https://lake.example.com/_signed/block?"
        assert given["presigned_url"].startswith(beginning)
        url = given["presigned_url"].replace("https://lake.example.com", server.url)
        while time.time() < given["presigned_url_expiry"]:
            time.sleep(0.1)
        assert "expired" in refused(httpx2.put(url, content=b"x", timeout=60))


def place_soon(api):
    path = "/repositories/sea/branches/main/staging/backing"
    return api.get(path, params={"path": "a", "presign": "true"}).json()
