"""URLs signed on behalf of an identity: Azurite takes them, which gave us a key for a token."""

from __future__ import annotations

import base64
import ipaddress
import json
import ssl
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from anabranch.blocks.azure_store import azure_blocks
from anabranch.testing.azure_emulator import azurite_program, running_azure

BODY = b"tea" * 1000
AS_BLOB = {"x-ms-blob-type": "BlockBlob"}
WHO = {"oid": "the-object", "tid": "the-tenant"}
TENANT = "https://sts.windows.net/the-tenant/"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with a certificate for 127.0.0.1, signed with the key that is there too."""
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
    """An Azurite that takes tokens, which it does over TLS alone."""
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


class Authority:
    """Gives tokens to clients and machines; `asked` has what was asked for."""

    def __init__(self):
        self.asked = []
        self.claims = {}
        self.status = 200
        authority = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                size = int(self.headers["Content-Length"])
                form = parse_qs(self.rfile.read(size).decode())
                authority.asked.append((self.path, {name: form[name][0] for name in form}))
                self.answer()

            def do_GET(self):
                parts = urlsplit(self.path)
                authority.asked.append((parts.path, parse_qs(parts.query)))
                assert self.headers["Metadata"] == "true"
                self.answer()

            def answer(self):
                body = json.dumps({"access_token": authority.token()}).encode()
                self.send_response(authority.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def token(self):
        now = int(time.time())
        claims = {"aud": "https://storage.azure.com", "iss": TENANT, "iat": now, **WHO}
        claims |= {"nbf": now - 60, "exp": now + 3600, **self.claims}
        parts = [{"alg": "RS256", "typ": "JWT"}, claims]
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts]
        return b".".join([*(part.rstrip(b"=") for part in encoded), b"c2ln"]).decode()


@pytest.fixture
def authority():
    made = Authority()
    serving = threading.Thread(target=made.http.serve_forever, args=(0.02,), daemon=True)
    serving.start()
    yield made
    made.http.shutdown()
    serving.join()
    made.http.server_close()


@pytest.fixture
def opened(azure, authority):
    """Opens the store with an identity."""

    def make(identity=None, **options):
        told = {"tenant_id": "t/1", "client_id": "c", "client_secret": "s&", **(identity or {})}
        told = {name: value for name, value in told.items() if value}
        return azure_blocks(
            identity={**told, "authority_host": authority.url},
            endpoint=azure.settings["ANABRANCH_BLOCKSTORE_AZURE_TEST_ENDPOINT_URL"],
            machine=authority.url,
            **options,
        )

    return make


@pytest.mark.parametrize("key", ["data/a/b", "odd key+%/é/😀"])
def test_a_block_is_stored_and_read(opened, client, namespace, key):
    store, address = opened(), f"{namespace}/{key}"
    storing = store.presign(address, "PUT", 60)
    assert client.put(storing, content=BODY, headers=AS_BLOB).status_code == 201
    assert client.put(storing, content=b"other", headers=AS_BLOB).status_code in {403, 409}
    reading = store.presign(address, "GET", 60)
    assert client.get(reading).content == BODY
    assert client.get(reading, headers={"Range": "bytes=3-5"}).content == b"tea"
    assert client.get(storing).status_code == 403
    assert client.put(reading, content=b"x", headers=AS_BLOB).status_code == 403
    assert client.delete(reading).status_code == 403


def test_a_changed_url_is_refused(opened, client, namespace):
    store, address = opened(), f"{namespace}/a"
    assert client.put(store.presign(address, "PUT", 60), content=BODY, headers=AS_BLOB).is_success
    url = store.presign(address, "GET", 60)
    names = {"sv", "sr", "sp", "se", "spr", "skoid", "sktid", "skt", "ske", "sks", "skv", "sig"}
    assert set(parse_qs(urlsplit(url).query)) == names
    for name in names - {"spr", "sv"}:
        assert client.get(url.replace(f"{name}=", f"{name}=1", 1)).status_code in {400, 403}
    assert client.get(url.replace("/a?", "/b?")).status_code == 403
    early = opened(clock=lambda: time.time() - 3600)
    assert client.get(early.presign(address, "GET", 3590)).status_code == 403
    assert client.get(early.presign(address, "GET", 4000)).content == BODY


def test_a_client_s_secret_and_a_pods_token_are_exchanged(opened, authority, namespace, tmp_path):
    assert opened().presign(f"{namespace}/a", "GET", 60)
    file = tmp_path / "token"
    file.write_text("of-the-pod\n")
    pod = {"client_secret": "", "federated_token_file": str(file)}
    assert opened(pod).presign(f"{namespace}/a", "GET", 60)
    (path, secret), (_, token) = authority.asked
    assert path == "/t%2F1/oauth2/v2.0/token"
    assert (secret["client_id"], secret["client_secret"]) == ("c", "s&")
    assert secret["scope"] == "https://storage.azure.com/.default"
    assert token["client_assertion"] == "of-the-pod"
    assert "client_secret" not in token


def test_a_machine_asks_its_metadata_service(opened, authority, namespace):
    machine = {"client_secret": "", "tenant_id": ""}
    assert opened(machine).presign(f"{namespace}/a", "GET", 60)
    ((path, query),) = authority.asked
    assert path == "/metadata/identity/oauth2/token"
    assert query["client_id"] == ["c"]
    assert query["resource"] == ["https://storage.azure.com/"]


def test_a_key_is_used_until_urls_would_outlive_it(opened, authority, namespace):
    now = [time.time()]
    store = opened(clock=lambda: now[0])
    for _ in range(50):
        store.presign(f"{namespace}/a", "GET", 900)
    assert len(authority.asked) == 1
    now[0] += 24 * 3600 - 10
    assert store.presign(f"{namespace}/a", "GET", 900)
    assert len(authority.asked) == 1
    now[0] += 20
    assert store.presign(f"{namespace}/a", "GET", 900)
    assert len(authority.asked) == 2


@pytest.mark.parametrize("fault", ["refused", "no token", "not admitted", "nobody there"])
def test_where_no_key_is_given_the_server_signs(opened, authority, namespace, fault):
    now = [time.time()]
    identity = {}
    if fault == "refused":
        authority.status = 401
    elif fault == "no token":
        authority.token = lambda: None
    elif fault == "not admitted":
        authority.claims = {"aud": "https://elsewhere.example.com"}
    else:
        identity = {"client_secret": "", "federated_token_file": "/nowhere/token"}
    store = opened(identity, clock=lambda: now[0])
    for _ in range(3):
        assert store.presign(f"{namespace}/a", "GET", 60) is None
    assert len(authority.asked) == (0 if identity else 1)
    authority.status, authority.claims = 200, {}
    authority.__dict__.pop("token", None)
    assert store.presign(f"{namespace}/a", "GET", 60) is None
    now[0] += 301
    assert (store.presign(f"{namespace}/a", "GET", 60) is None) == bool(identity)


def test_a_token_is_not_shown_without_tls(authority):
    store = azure_blocks(
        identity={"client_id": "c", "client_secret": "s", "authority_host": authority.url},
        endpoint="http://127.0.0.1:1/account",
    )
    assert store.presign("https://account.blob.core.windows.net/lake/a", "GET", 60) is None
    assert authority.asked == []
