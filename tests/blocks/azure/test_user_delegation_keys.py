"""URLs signed with a user delegation key, which Azurite issues for a token and verifies."""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import ssl
import subprocess
import sys
import threading
import time
import uuid
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from azure.identity import DefaultAzureCredential
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from support.services.azure_emulator import azurite_program, running_azure

from anabranch.blocks.azure.identity import find_token
from anabranch.blocks.azure.store import azure_blocks
from anabranch.errors import StoreRefused

BODY = b"abc" * 1000
AS_BLOB = {"x-ms-blob-type": "BlockBlob"}
ENDPOINTS = ("authorization", "token")
WHO = {"oid": "the-object", "tid": "the-tenant"}
TENANT = "https://sts.windows.net/the-tenant/"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with a self-signed certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(place, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(made.public_bytes(Encoding.PEM) + private)
    return file


@pytest.fixture(scope="module")
def azure(certificate):
    """An Azurite that accepts tokens, which it does only over TLS."""
    if azurite_program() is None:
        pytest.skip("Azurite is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(certificate))
        with running_azure(certificate) as server:
            yield server


@pytest.fixture
def client(certificate):
    with httpx2.Client(verify=ssl.create_default_context(cafile=certificate), timeout=60) as made:
        yield made


@pytest.fixture
def namespace(azure):
    name = f"container-{uuid.uuid4()}"
    azure.make_container(name)
    return f"{azure.root}/{name}"


class Handler(BaseHTTPRequestHandler):
    """Handles requests to the `authority` of its server."""

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        form = parse_qs(self.rfile.read(size).decode())
        fields = {name: form[name][0] for name in form}
        self.server.authority.requests.append((self.path, fields))
        self.give_token()

    def do_GET(self):
        authority, parts = self.server.authority, urlsplit(self.path)
        if parts.path.endswith("/.well-known/openid-configuration"):
            tenant = f"{authority.url}/{parts.path.split('/')[1]}"
            fields = {f"{name}_endpoint": f"{tenant}/{name}" for name in ENDPOINTS}
            self.respond(200, {**fields, "issuer": f"{tenant}/v2.0"})
        elif self.headers["Metadata"] != "true":
            self.respond(400, {})  # Azure's tools recognise a machine of Azure by this response
        else:
            authority.requests.append((parts.path, parse_qs(parts.query)))
            self.give_token()

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.authority.stored.append((self.path, self.headers["Authorization"]))
        self.respond(201, {}, ETag='"0x1"')

    def give_token(self):
        authority = self.server.authority
        if authority.status != HTTPStatus.OK:
            self.respond(authority.status, {"error": "invalid_request"})
            return
        authority.given = authority.token()
        token = {"access_token": authority.given, "expires_in": 3600, "token_type": "Bearer"}
        self.respond(200, {**token, "resource": "https://storage.azure.com"})

    def respond(self, status, fields, **headers):
        body = json.dumps(fields).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Authority:
    """Gives tokens to clients, over TLS with a `certificate`, and to machines: `requests` holds the
    requests, `given` the last token. It takes blobs, too: `stored` holds their paths and tokens.
    """

    def __init__(self, certificate=None):
        self.requests, self.stored = [], []
        self.given = ""
        self.claims = {}
        self.status = 200
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.authority = self
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        if certificate is not None:
            self.url = self.url.replace("http:", "https:")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)

    @contextmanager
    def running(self):
        serving = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        serving.start()
        yield self
        self.http.shutdown()
        serving.join()
        self.http.server_close()

    def token(self):
        now = int(time.time())
        claims = {"aud": "https://storage.azure.com", "iss": TENANT, "iat": now, **WHO}
        claims |= {"nbf": now - 60, "exp": now + 3600, **self.claims}
        parts = [{"alg": "RS256", "typ": "JWT"}, claims]
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts]
        return b".".join([*(part.rstrip(b"=") for part in encoded), b"c2ln"]).decode()


@pytest.fixture(autouse=True)
def _no_identity(monkeypatch):
    for name in os.environ:
        if name.startswith("AZURE_"):
            monkeypatch.delenv(name)
    # in place of this machine's own tools
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "prod")


@pytest.fixture
def authority(monkeypatch):
    """The machine's metadata service."""
    with Authority().running() as made:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", made.url)
        yield made


@pytest.fixture
def open_store(azure, authority):  # noqa: ARG001  the metadata service must run
    """Opens the store with the identity of the environment."""

    def make(**options):
        endpoint = azure.settings["ANABRANCH_BLOCKSTORE_AZURE_TEST_ENDPOINT_URL"]
        return azure_blocks(endpoint=endpoint, **options)

    return make


@pytest.mark.parametrize("key", ["data/a/b", "odd key+%/é/😀"])
def test_a_block_is_stored_and_read_by_url(open_store, client, namespace, key):
    store, address = open_store(), f"{namespace}/{key}"
    storing = store.presign(address, "PUT", 60)
    assert client.put(storing, content=BODY, headers=AS_BLOB).status_code == 201
    assert client.put(storing, content=b"other", headers=AS_BLOB).status_code in {403, 409}
    reading = store.presign(address, "GET", 60)
    assert client.get(reading).content == BODY
    assert client.get(reading, headers={"Range": "bytes=3-5"}).content == b"abc"
    assert client.get(storing).status_code == 403
    assert client.put(reading, content=b"x", headers=AS_BLOB).status_code == 403
    assert client.delete(reading).status_code == 403


def test_a_changed_url_is_refused(open_store, client, namespace):
    store, address = open_store(), f"{namespace}/a"
    assert client.put(store.presign(address, "PUT", 60), content=BODY, headers=AS_BLOB).is_success
    url = store.presign(address, "GET", 60)
    names = {"sv", "sr", "sp", "se", "spr", "skoid", "sktid", "skt", "ske", "sks", "skv", "sig"}
    assert set(parse_qs(urlsplit(url).query)) == names
    for name in names - {"spr", "sv"}:
        assert client.get(url.replace(f"{name}=", f"{name}=1", 1)).status_code in {400, 403}
    assert client.get(url.replace("/a?", "/b?")).status_code == 403
    early = open_store(clock=lambda: time.time() - 3600)
    assert client.get(early.presign(address, "GET", 3590)).status_code == 403
    assert client.get(early.presign(address, "GET", 4000)).content == BODY


@pytest.mark.parametrize("kind", ["secret", "pod"])
def test_an_identity_of_the_environment_is_used(
    kind, open_store, certificate, namespace, tmp_path, monkeypatch
):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    monkeypatch.setenv("AZURE_TENANT_ID", "the-tenant")
    monkeypatch.setenv("AZURE_CLIENT_ID", "c")
    if kind == "secret":
        monkeypatch.setenv("AZURE_CLIENT_SECRET", "s&")
    else:
        (tmp_path / "token").write_text("of-the-pod")
        monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
    with Authority(certificate).running() as authority:
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", authority.url)
        credential = DefaultAzureCredential(disable_instance_discovery=True)
        store = open_store(credential=find_token(credential))
        assert store.presign(f"{namespace}/a", "GET", 60)
    ((path, form),) = authority.requests
    assert path.startswith("/the-tenant/")
    assert form["client_id"] == "c"
    assert form["scope"] == "https://storage.azure.com/.default"
    assert form.get("client_secret") == ("s&" if kind == "secret" else None)
    assert form.get("client_assertion") == ("of-the-pod" if kind == "pod" else None)


def test_machine_queries_its_metadata_service(open_store, authority, namespace, monkeypatch):
    monkeypatch.setenv("AZURE_CLIENT_ID", "c")
    store = open_store()
    assert store.presign(f"{namespace}/a", "GET", 60)
    ((path, query),) = authority.requests
    assert path == "/metadata/identity/oauth2/token"
    assert query["client_id"] == ["c"]
    assert query["resource"] == ["https://storage.azure.com"]


def test_requests_to_the_store_carry_the_token(authority):
    """Without TLS, since obstore has its own certificates."""
    store = azure_blocks(endpoint=f"{authority.url}/account")
    for _ in range(5):
        store.put("https://account.blob.core.windows.net/lake/a", [BODY])
    assert len(authority.requests) == 1
    assert [path for path, _ in authority.stored] == ["/account/lake/a"] * 5
    assert {header for _, header in authority.stored} == {f"Bearer {authority.given}"}


def test_without_an_identity_there_are_no_credentials(open_store, authority, namespace):
    authority.status = 400
    store = open_store()
    for use in (store.read, store.stat, lambda address: store.put(address, [b"x"])):
        with pytest.raises(StoreRefused, match="Token request error") as error:
            use(f"{namespace}/a")
        assert error.value.kind == "no_credentials"
        assert "storage_access_key" in error.value.hint
        assert "\n" not in str(error.value)


def test_without_azure_identity_only_an_access_key_can_be_used():
    program = """
import re, sys
sys.modules["azure.identity"] = None
from anabranch.blocks.azure.identity import find_token
from anabranch.blocks.azure.store import azure_blocks
from anabranch.errors import StoreRefused
from anabranch.errors import Invalid
from anabranch.model.secret import Secret
azure_blocks(account="ours", access_key=Secret("c2VjcmV0"))
try:
    azure_blocks()
except Invalid as error:
    print(error.kind, re.search("pip install '(.*)'", error.hint)[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["extra_missing", "anabranch[azure]"]


def test_a_key_is_cached_while_it_outlives_the_urls(open_store, namespace):
    now = [time.time()]
    store = open_store(clock=lambda: now[0])

    def key():
        query = parse_qs(urlsplit(store.presign(f"{namespace}/a", "GET", 900)).query)
        return query["ske"], query["skt"]

    first = key()
    assert {str(key()) for _ in range(50)} == {str(first)}
    now[0] += 24 * 3600 - 10
    assert key() == first
    now[0] += 20
    assert key() != first


@pytest.mark.parametrize("fault", ["refused", "no token", "not admitted"])
def test_without_a_delegation_key_the_server_signs(open_store, authority, namespace, fault):
    now = [time.time()]
    if fault == "refused":
        authority.status = 400
    elif fault == "no token":
        authority.token = lambda: None
    else:
        authority.claims = {"aud": "https://elsewhere.example.com"}
    store = open_store(clock=lambda: now[0])
    for _ in range(3):
        assert store.presign(f"{namespace}/a", "GET", 60) is None
    assert len(authority.requests) == 1
    authority.status = 200
    assert store.presign(f"{namespace}/a", "GET", 60) is None
    now[0] += 301
    assert bool(store.presign(f"{namespace}/a", "GET", 60)) == (fault == "refused")


def test_a_token_is_not_sent_without_tls(authority):
    store = azure_blocks(endpoint="http://127.0.0.1:1/account")
    assert store.presign("https://account.blob.core.windows.net/lake/a", "GET", 60) is None
    assert authority.requests == []
