"""Tokens for Google Cloud Storage without a service account's key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest
from support.services.google_account import GoogleAccount

from anabranch.blocks.gcs.identity import find_token
from anabranch.blocks.gcs.store import gcs_blocks
from anabranch.errors import Busy, Invalid, StoreRefused
from anabranch.model.secret import Secret

TOKEN = "/computeMetadata/v1/instance/service-accounts/default/token"


class Handler(BaseHTTPRequestHandler):
    """A machine's metadata service, a security token service, and a bucket."""

    def do_GET(self):
        service, path = self.server.service, self.path.partition("?")[0]
        if path.endswith("/token"):
            service.requested.append(path)
            self.respond(service.status, {"access_token": service.token(), **service.fields})
        elif "/service-accounts/" in path:
            self.respond(200, {"email": "lake@project.iam.gserviceaccount.com", "scopes": []})
        else:
            self.respond(200, {})

    def do_POST(self):
        service = self.server.service
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        service.requested.append({name: value[0] for name, value in form.items()})
        fields = {"access_token": service.token(), **service.fields}
        self.respond(service.status, fields if service.status == 200 else service.error)

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.service.stored.append((self.path, self.headers["Authorization"]))
        self.respond(200, {})

    def respond(self, status, fields):
        body = json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/json")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Service:
    def __init__(self):
        self.requested, self.stored, self.given = [], [], 0
        self.status, self.error = 200, {}
        self.fields = {"expires_in": 3600, "token_type": "Bearer"}
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.service = self
        self.host = f"127.0.0.1:{self.http.server_port}"

    def token(self):
        self.given += 1
        return f"token-{self.given}"


@pytest.fixture
def service():
    made = Service()
    thread = threading.Thread(target=made.http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch, tmp_path):
    for name in os.environ:
        if name.startswith(("GOOGLE_", "GCE_", "CLOUDSDK_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    # google-auth reads the environment once, when it is imported
    monkeypatch.setattr("google.auth.compute_engine._metadata._NO_GCE_CHECK", True)


@pytest.fixture
def machine(service, monkeypatch):
    monkeypatch.setattr("google.auth.compute_engine._metadata._NO_GCE_CHECK", False)
    monkeypatch.setattr("google.auth.compute_engine._metadata._GCE_METADATA_HOST", service.host)
    monkeypatch.setenv("GCE_METADATA_IP", service.host)
    return service


@pytest.fixture
def federated(service, tmp_path):
    """Credentials of workload identity federation, as a document."""
    (tmp_path / "subject").write_text("of-the-pod")
    service.fields["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
    return json.dumps(
        {
            "type": "external_account",
            "audience": "//iam.googleapis.com/lake",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": f"http://{service.host}/sts",
            "credential_source": {"file": str(tmp_path / "subject")},
        }
    )


def test_machine_queries_its_metadata_service(machine):
    token = find_token()()
    assert token["token"] == "token-1"
    assert machine.requested == [TOKEN]
    assert token["expires_at"].tzinfo is not None


def test_other_credentials_are_exchanged_for_a_token(service, federated, tmp_path, monkeypatch):
    assert find_token(Secret(federated))()["token"] == "token-1"
    (tmp_path / "adc.json").write_text(federated)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "adc.json"))
    assert find_token()()["token"] == "token-2"
    assert {each["subject_token"] for each in service.requested} == {"of-the-pod"}


@pytest.mark.parametrize(("seconds", "requests"), [(3600, 1), (60, 4)])
def test_a_token_is_refreshed_only_when_it_is_about_to_expire(machine, seconds, requests):
    machine.fields["expires_in"] = seconds
    token = find_token(check_interval=0)
    for _ in range(4):
        token()
    assert len(machine.requested) == requests


def test_requests_to_the_store_carry_the_token(machine):
    store = gcs_blocks(endpoint=f"http://{machine.host}", credential=find_token())
    for _ in range(5):
        store.put("gs://lake/a", [b"abc"])
    assert machine.stored == [("/lake/a", "Bearer token-1")] * 5
    assert len(machine.requested) == 1


def test_an_emulator_gets_no_token(machine):
    gcs_blocks(endpoint=f"http://{machine.host}").put("gs://lake/a", [b"abc"])
    assert machine.stored == [("/lake/a", "Bearer ")]


def test_without_an_identity_there_are_no_credentials():
    store = gcs_blocks()
    for use in (store.read, store.stat, lambda address: store.put(address, [b"x"])):
        with pytest.raises(StoreRefused, match="no token for Google") as error:
            use("gs://lake/a")
        assert error.value.kind == "no_credentials"
        assert "credentials_file" in error.value.hint


def test_a_refusal_raises_store_refused(service, federated):
    service.status, service.error = 400, {"error": "invalid_grant", "error_description": "revoked"}
    with pytest.raises(StoreRefused, match="invalid_grant"):
        find_token(Secret(federated))()
    with pytest.raises(Busy) as error:
        find_token(Secret(federated.replace(service.host, "127.0.0.1:1")))()
    assert error.value.kind == "storage_unreachable"


@pytest.mark.parametrize("text", ["wJalr", "[1]", '{"type": 7, "x": "wJalr"}'])
def test_an_invalid_document_is_refused_without_quoting_it(text, tmp_path):
    with pytest.raises(Invalid) as error:
        gcs_blocks(credentials_json=Secret(text))
    assert "wJalr" not in f"{error.value} {error.value.__cause__}"
    with pytest.raises(Invalid, match="cannot be read: No such file"):
        gcs_blocks(credentials_file=str(tmp_path / "nowhere"))


def test_without_google_auth_only_a_key_can_be_used():
    program = """
import re, sys
sys.modules["google.auth"] = None
from anabranch.blocks.gcs.store import gcs_blocks
from anabranch.errors import Invalid
from anabranch.model.secret import Secret
gcs_blocks(credentials_json=Secret(sys.stdin.read()))
try:
    gcs_blocks()
except Invalid as error:
    print(error.kind, re.search("pip install '(.*)'", error.hint)[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=GoogleAccount.new().file,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["extra_missing", "anabranch[gcs]"]
