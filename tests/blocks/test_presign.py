"""Presigned URLs of object stores, used without credentials."""

from __future__ import annotations

import hashlib
import re
import time
from datetime import timedelta
from urllib.parse import parse_qs, quote, urlsplit

import httpx2
import obstore
import pytest
from obstore.store import GCSStore
from support.services.google_account import GoogleAccount

from anabranch.blocks.azure.store import azure_blocks
from anabranch.blocks.gcs.store import gcs_blocks
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.blocks.s3.store import s3_blocks
from anabranch.errors import Invalid, StoreRefused
from anabranch.model.secret import Secret

BODY = b"abc" * 1000
HTTP = httpx2.Client(timeout=60)  # shared, since each client reads the certificates
MD5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
# none with dots for names: HTTP clients take them out of any URL
STORES = ["s3", "gcs", "azure"]
KEYS = ["data/a/b", "odd key+%/é/😀", "a//b", "trail/"]
NO_PATHS = {"a//b", "trail/"}
AS_BLOB = {"x-ms-blob-type": "BlockBlob"}


@pytest.fixture(params=STORES)
def kind(request):
    return request.param


@pytest.fixture
def signing(kind, request):
    """A store that signs."""
    return request.getfixturevalue(f"{kind}_store")


@pytest.fixture
def address_for(kind, request):
    """Returns a function from keys to addresses in that store."""
    namespace = request.getfixturevalue(f"{ {'gcs': 'gs'}.get(kind, kind) }_namespace")
    return lambda key: f"{namespace}/{key}"


def hour_ago(kind, request):
    """The same store an hour ago."""
    if kind == "s3":
        server = request.getfixturevalue("s3")
        return s3_blocks(server.access(), clock=lambda: time.time() - 3600)
    server = request.getfixturevalue("azure" if kind == "azure" else "emulated_s3")
    make = server.blocks if kind == "azure" else server.gcs_blocks
    return make(clock=lambda: time.time() - 3600)


def put(url, body=BODY):
    return HTTP.put(url, content=body, headers=AS_BLOB)


def tampered(url):
    """Yields the URL with one character of its signature, or of what it signs, changed."""
    parts = urlsplit(url)
    for name, values in parse_qs(parts.query).items():
        for at in (0, len(values[0]) // 2):
            other = "1" if values[0][at] != "1" else "2"
            value = values[0][:at] + other + values[0][at + 1 :]
            changed = parts.query.replace(
                f"{name}={quote(values[0], safe='')}", f"{name}={quote(value, safe='')}"
            )
            assert changed != parts.query
            yield parts._replace(query=changed).geturl()


@pytest.mark.parametrize("kind", ["memory", "local", "gcs_tokens", "azure_tokens"])
def test_stores_that_cannot_sign_use_urls_of_the_server(kind, tmp_path):
    def no_token():
        raise StoreRefused("no token", kind="no_credentials")

    stores = {
        "memory": lambda: MemoryBlocks(pre_signed=True),
        "local": lambda: LocalBlocks(tmp_path, pre_signed=True),
        "gcs_tokens": gcs_blocks,
        "azure_tokens": lambda: azure_blocks(credential=no_token),
    }
    store = stores[kind]()
    address = f"{store.config.blockstore_namespace_example}a"
    assert store.presign(address, "GET", 60) is None
    assert store.presign_part(address, "upload", 1, 60) is None
    assert store.config.pre_sign_support
    assert store.config.pre_sign_multipart_upload


@pytest.mark.parametrize(
    ("kind", "key"),
    [(kind, key) for kind in STORES for key in KEYS if kind == "s3" or key not in NO_PATHS],
)
def test_a_block_is_stored_and_read_by_url(kind, signing, address_for, key, request):
    address = address_for(key)
    stored = put(signing.presign(address, "PUT", 60))
    if kind == "s3" and key == "a//b" and request.getfixturevalue("s3").product == "MinIO":
        assert (stored.status_code, "XMinioInvalidObjectName" in stored.text) == (400, True)
        return
    assert stored.status_code in {200, 201}
    if kind != "azure":
        assert stored.headers["etag"] == f'"{MD5}"'
    assert signing.read(address) == BODY
    url = signing.presign(address, "GET", 60)
    assert HTTP.get(url).content == BODY
    part = HTTP.get(url, headers={"Range": "bytes=3-5"})
    assert (part.status_code, part.content) == (206, b"abc")


class TestVerifiedSignatures:
    """Azurite verifies signatures; for Google, a server verifies them as botocore would."""

    @pytest.fixture(params=["gcs", "azure"])
    def kind(self, request):
        return request.param

    def test_a_changed_url_is_refused(self, signing, address_for):
        address = address_for("data/a")
        signing.put(address, [BODY])
        url = signing.presign(address, "GET", 60)
        assert HTTP.get(url).status_code == 200
        for changed in tampered(url):
            assert HTTP.get(changed).status_code in {400, 403}
        bare = HTTP.get(url.partition("?")[0])
        assert bare.status_code != 200 or "X-Goog" in url  # an emulator does not authenticate

    def test_a_url_permits_one_block(self, signing, address_for):
        for key in ("data/a", "data/b"):
            signing.put(address_for(key), [BODY])
        url = signing.presign(address_for("data/a"), "GET", 60)
        for other in ("/data/b?", "/data/a/b?", "/data?"):
            assert HTTP.get(url.replace("/data/a?", other)).status_code == 403

    def test_a_url_permits_one_method(self, signing, address_for):
        address = address_for("data/a")
        reading, storing = (signing.presign(address, method, 60) for method in ("GET", "PUT"))
        assert put(reading).status_code == 403
        assert put(storing).status_code in {200, 201}
        assert HTTP.get(storing).status_code == 403
        for url in (reading, storing):
            assert HTTP.delete(url).status_code == 403
        assert signing.read(address) == BODY

    def test_a_url_expires(self, kind, request, address_for):
        store = hour_ago(kind, request)
        store.put(address_for("a"), [BODY])
        assert HTTP.get(store.presign(address_for("a"), "GET", 4000)).content == BODY
        assert HTTP.get(store.presign(address_for("a"), "GET", 3590)).status_code == 403
        assert put(store.presign(address_for("b"), "PUT", 3590)).status_code == 403
        assert store.stat(address_for("b")) is None


def test_an_azure_url_does_not_overwrite_a_block(azure_store, azure_namespace):
    address = f"{azure_namespace}/a"
    url = azure_store.presign(address, "PUT", 60)
    assert put(url).status_code == 201
    assert put(url, b"something else").status_code in {403, 409}
    append = HTTP.put(f"{url}&comp=block&blockid=AAAA", content=b"x")
    assert append.status_code == 403
    assert azure_store.read(address) == BODY


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_google_signatures_are_those_of_obstore(method):
    """With a key that needs no encoding, since obstore does not encode all characters."""
    account = GoogleAccount.new()
    identity = {"google_service_account_key": account.file}
    obstore_url = obstore.sign(
        GCSStore("lake", config=identity), method, "data/a b/c-1", timedelta(seconds=77)
    )
    query = {name: values[0] for name, values in parse_qs(urlsplit(obstore_url).query).items()}
    moment = time.mktime(time.strptime(query["X-Goog-Date"] + "UTC", "%Y%m%dT%H%M%SZ%Z"))
    store = gcs_blocks(credentials_json=Secret(account.file), clock=lambda: moment - time.timezone)
    url = store.presign("gs://lake/data/a b/c-1", method, 77)
    assert url.partition("?")[0] == obstore_url.partition("?")[0]
    assert parse_qs(urlsplit(url).query) == parse_qs(urlsplit(obstore_url).query)


def test_a_google_account_is_read_from_a_file(tmp_path):
    file = tmp_path / "account.json"
    file.write_text(GoogleAccount.new().file)
    store = gcs_blocks(credentials_file=str(file))
    assert store.presign("gs://lake/a", "GET", 60).startswith(
        "https://storage.googleapis.com/lake/a?X-Goog-Algorithm=GOOG4-RSA-SHA256&"
    )
    file.write_text('{"type": "authorized_user", "refresh_token": "r", "client_id": "c"}')
    store = gcs_blocks(credentials_file=str(file))
    assert store.presign("gs://lake/a", "GET", 60) is None


def test_malformed_keys_raise_invalid():
    account = GoogleAccount.new().file
    wrong = re.sub("BEGIN PRIVATE KEY-----.*?-----END", "BEGIN PRIVATE KEY-----x-----END", account)
    with pytest.raises(Invalid, match="not an RSA key") as error:
        gcs_blocks(credentials_json=Secret(wrong))
    assert "JSON file" in error.value.hint
    store = azure_blocks(account="ours", access_key=Secret("not base64!"))
    with pytest.raises(Invalid, match="not in base64"):
        store.presign("https://ours.blob.core.windows.net/lake/a", "GET", 60)


def test_an_azure_key_is_for_one_account():
    store = azure_blocks(account="ours", access_key=Secret("c2VjcmV0"))
    url = urlsplit(store.presign("https://ours.blob.core.windows.net/lake/a", "GET", 60))
    assert (url.scheme, url.path) == ("https", "/lake/a")
    assert parse_qs(url.query)["spr"] == ["https"]
    with pytest.raises(Invalid, match="'ours'"):
        store.presign("https://theirs.blob.core.windows.net/lake/a", "GET", 60)


class TestS3:
    def test_parts_are_stored_by_url(self, s3_store, s3_namespace):
        address = f"{s3_namespace}/data/parts"
        upload = s3_store.open_upload(address)
        bodies = [b"a" * (5 << 20), b"end"]
        parts = []
        for number, body in enumerate(bodies, 1):
            stored = put(s3_store.presign_part(address, upload, number, 60), body)
            parts.append((number, stored.headers["etag"].strip('"')))
        assert [(part.number, part.checksum) for part in s3_store.parts(address, upload)] == parts
        s3_store.complete_upload(address, upload, parts)
        assert s3_store.read(address) == b"".join(bodies)

    def test_a_url_has_the_lifetime_and_the_public_endpoint(self, s3, bucket):
        store = s3_blocks(s3.access(public_endpoint="https://s3.example.com"))
        parts = urlsplit(store.presign(f"s3://{bucket}/a", "GET", 90))
        assert (parts.scheme, parts.netloc) == ("https", "s3.example.com")
        assert parts.path == f"/{bucket}/a"
        assert parse_qs(parts.query)["X-Amz-Expires"] == ["90"]
