"""Presigned URLs of a server that signs URLs of its local block store."""

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


def get_staging(api, branch, path="new"):
    """Returns an address for an object's bytes, with a presigned URL."""
    staging = api.get(f"{branch}/staging/backing", params={"path": path, "presign": "true"}).json()
    assert 0 < staging["presigned_url_expiry"] - time.time() <= 900
    return staging


def changed(url, **parameters):
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()} | parameters
    return parts._replace(query=urlencode(query)).geturl()


def refused(response, status=403):
    assert response.status_code == status
    assert set(response.json()) == {"message"}
    return response.json()["message"]


def test_an_object_is_read_by_its_url(server, url):
    assert url.startswith(f"{server.url}/_signed/")
    response = httpx2.get(url)
    assert (response.status_code, response.content) == (200, BODY)
    assert response.headers["accept-ranges"] == "bytes"
    assert "x-request-id" in response.headers


@pytest.mark.parametrize(
    ("range_", "start", "end"),
    [("0-0", 0, 1), ("1000-", 1000, len(BODY)), ("-5", -5, None), ("9-9999999", 9, len(BODY))],
)
def test_ranges_are_read_by_url(url, range_, start, end):
    response = httpx2.get(url, headers={"Range": f"bytes={range_}"})
    assert (response.status_code, response.content) == (206, BODY[start:end])
    first = start % len(BODY)
    last = (end or len(BODY)) - 1
    assert response.headers["content-range"] == f"bytes {first}-{last}/{len(BODY)}"


def test_an_invalid_range_is_ignored_and_one_past_the_end_refused(url):
    assert httpx2.get(url, headers={"Range": "lines=1-2"}).content == BODY
    assert httpx2.get(url, headers={"Range": f"bytes={len(BODY)}-"}).status_code == 416


def test_content_is_served_as_an_attachment_of_opaque_bytes(api, branch, ref):
    page = b"<script>alert(1)</script>"
    put = api.post(
        f"{branch}/objects",
        params={"path": "a.html"},
        content=page,
        headers={"Content-Type": "text/html"},
    )
    assert put.status_code == 201
    stat = api.get(f"{ref}/objects/stat", params={"path": "a.html", "presign": "true"}).json()
    response = httpx2.get(stat["physical_address"])
    assert response.content == page
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == "attachment"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"].endswith("sandbox")


def test_a_url_permits_one_method_on_one_address(api, branch, url, ref):
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


def test_reads_redirect_to_urls_and_listings_contain_them(api, branch, ref, url):
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


def test_reads_of_tables_redirect_to_urls(api, repository, branch, url):
    assert url
    commit = api.post(f"{branch}/commits", json={"message": "m"}).json()["meta_range_id"]
    table = f"/repositories/{repository}/metadata/object/meta_range/{commit}"
    sent = api.get(table, params={"presign": "true"})
    assert sent.status_code == 302
    assert httpx2.get(sent.headers["location"]).content == api.get(table).content


def test_bytes_stored_by_url_can_be_linked(api, branch, ref):
    staging = get_staging(api, branch)
    put = httpx2.put(staging["presigned_url"], content=BODY, headers={"Content-Type": "text/x-sea"})
    assert (put.status_code, put.headers["etag"]) == (200, f'"{MD5}"')
    assert httpx2.get(staging["presigned_url"]).status_code == 403
    staged = {
        "staging": {"physical_address": staging["physical_address"]},
        "checksum": MD5,
        "size_bytes": len(BODY),
    }
    linked = api.put(f"{branch}/staging/backing", params={"path": "new"}, json=staged)
    assert linked.status_code == 200
    assert api.get(f"{ref}/objects", params={"path": "new"}).content == BODY


def test_a_url_does_not_overwrite_other_bytes(api, branch):
    url = get_staging(api, branch)["presigned_url"]
    assert httpx2.put(url, content=BODY).status_code == 200
    assert httpx2.put(url, content=BODY).headers["etag"] == f'"{MD5}"'
    refused(httpx2.put(url, content=BODY[:-1] + b"x"), 409)
    refused(httpx2.put(url, content=b""), 409)
    assert httpx2.put(url, content=BODY).status_code == 200


def test_parts_are_uploaded_by_url(api, branch, ref):
    uploads = f"{branch}/staging/pmpu"
    response = api.post(uploads, params={"path": "big", "parts": 1})
    assert response.status_code == 201
    upload = response.json()
    parts = [b"a" * (5 << 20), b"b" * 1000]
    query = {"path": "big"}
    more = api.put(f"{uploads}/{upload['upload_id']}/parts/2", params=query, json={})
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
    end = f"{uploads}/{upload['upload_id']}"
    wrong = body | {"physical_address": body["physical_address"] + "x"}
    assert refused(api.put(end, params=query, json=wrong), 400)
    assert refused(api.put(end, params=query, json=body | {"parts": body["parts"][::-1]}), 400)
    assert refused(api.put(end, params=query, json=body | {"parts": []}), 400)
    assert refused(httpx2.put(changed(urls[0], part="2"), content=b"x"))
    for _ in range(2):  # a client repeats the request if the response was lost
        done = api.put(end, params=query, json=body)
        assert done.status_code == 200, done.text
        assert (done.json()["size_bytes"], done.json()["metadata"]) == (
            len(b"".join(parts)),
            {"k": "v"},
        )
    assert api.get(f"{ref}/objects", params=query).content == b"".join(parts)
    assert httpx2.put(urls[0], content=parts[0]).status_code == 404


def test_parts_can_be_copied_and_uploads_aborted(api, branch, ref, repository, url):
    assert url
    uploads, query = f"{branch}/staging/pmpu", {"path": "copy"}
    upload = api.post(uploads, params=query).json()
    assert "presigned_urls" not in upload
    source = {"repository": repository, "ref": "main", "path": "a", "range": "bytes=10-19"}
    part = f"{uploads}/{upload['upload_id']}/parts/1/copy"
    copied = api.put(part, params=query, json={"copy_source": source})
    assert copied.status_code == 204
    md5 = hashlib.md5(BODY[10:20], usedforsecurity=False).hexdigest()
    assert copied.headers["etag"] == f'"{md5}"'
    missing = api.put(part, params=query, json={"copy_source": source | {"path": "none"}})
    refused(missing, 404)
    end = f"{uploads}/{upload['upload_id']}"
    body = {"physical_address": upload["physical_address"]}
    assert api.request("DELETE", end, params=query, json=body).status_code == 204
    refused(api.request("DELETE", end, params=query, json=body), 404)
    assert api.get(f"{ref}/objects", params=query).status_code == 404


def test_prepared_commits_have_a_url(api, repository, url):
    assert url
    rules = {"default_retention_days": 1, "branches": []}
    assert api.put(f"/repositories/{repository}/settings/gc_rules", json=rules).is_success
    body = api.post(f"/repositories/{repository}/gc/prepare_commits").json()
    file = Path(body["gc_commits_location"].removeprefix("local://"))
    assert httpx2.get(body["gc_commits_presigned_url"]).text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("parts", [-1, 10_001])
def test_an_invalid_number_of_parts_is_refused(api, branch, parts):
    refused(api.post(f"{branch}/staging/pmpu", params={"path": "a", "parts": parts}), 400)


def test_urls_expire_and_have_the_endpoint_of_the_settings(tmp_path):
    env = {
        "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_EXPIRY": "1s",
        "ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED_ENDPOINT": "https://lake.example.com/",
    }
    with running_server(tmp_path, env=env) as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            body = {"name": "sea", "storage_namespace": "local://sea"}
            assert api.post("/repositories", json=body).is_success
            staging = staging_address(api)
        beginning = "https://lake.example.com/_signed/block?"
        assert staging["presigned_url"].startswith(beginning)
        url = staging["presigned_url"].replace("https://lake.example.com", server.url)
        while time.time() < staging["presigned_url_expiry"]:
            time.sleep(0.1)
        assert "expired" in refused(httpx2.put(url, content=b"x", timeout=60))


def staging_address(api):
    path = "/repositories/sea/branches/main/staging/backing"
    return api.get(path, params={"path": "a", "presign": "true"}).json()
