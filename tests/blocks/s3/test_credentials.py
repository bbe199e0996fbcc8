"""Where credentials for S3 are found, and when they are refreshed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.services.s3_service import CREDENTIALS

from anabranch.blocks.s3.credentials import find_credentials
from anabranch.blocks.s3.store import s3_blocks
from anabranch.errors import Busy, StoreRefused
from anabranch.model.secret import Secret

ROLE = "arn:aws:iam::123456789012:role/lake"


def in_hours(hours):
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch, tmp_path):
    """A machine without credentials that is not an instance of AWS."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0)


@pytest.fixture
def environment_keys(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")


@pytest.fixture
def aws(tmp_path):
    """Writes files of `~/.aws`."""

    def write(name, text):
        path = tmp_path / ".aws" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


class Service:
    """The responses of AWS's credential services; `requests` are the received requests."""

    def __init__(self):
        self.requests = []
        self.headers = {}
        self.body = ""
        self.status = 200
        self.expiration = in_hours(6)
        service = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                service.requests.append(f"{self.command} {self.path.partition('?')[0]}")
                service.headers = self.headers
                length = int(self.headers.get("Content-Length") or 0)
                service.body = self.rfile.read(length).decode()
                content = service.content(self.path).encode()
                self.send_response(service.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = answer  # noqa: N815  the names of http.server

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def content(self, path):
        keys = {"AccessKeyId": "AKIASVC", "SecretAccessKey": "s", "Expiration": self.expiration}
        if path == "/latest/api/token":
            return "a-token"
        if path.endswith("security-credentials/"):
            return "our-role"
        if path.startswith("/federation"):
            milliseconds = int(datetime.fromisoformat(self.expiration).timestamp() * 1000)
            role = {"accessKeyId": "AKIASVC", "secretAccessKey": "s", "sessionToken": "t"}
            return json.dumps({"roleCredentials": {**role, "expiration": milliseconds}})
        if path.startswith("/sts"):
            fields = {**keys, "SessionToken": "t"}
            text = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
            action = "AssumeRole" + ("WithWebIdentity" if "WithWebIdentity" in self.body else "")
            return (
                f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
                f"<{action}Result><Credentials>{text}</Credentials></{action}Result>"
                f"</{action}Response>"
            )
        return json.dumps({"Code": "Success", **keys, "Token": "t"})


@pytest.fixture
def service():
    made = Service()
    thread = threading.Thread(target=made.http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


@pytest.fixture
def container(service, monkeypatch):
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{service.url}/role")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "of-the-container")
    return service


def as_tuple(credentials):
    return credentials.access_key_id, credentials.secret.reveal(), credentials.token


FROM_SERVICE = ("AKIASVC", "s", "t")


@pytest.mark.usefixtures("environment_keys")
class TestKeys:
    """Keys in the settings or the environment."""

    def test_of_the_settings_are_preferred(self):
        token = Secret("t")
        find = find_credentials(
            access_key_id="AKIASET", secret_access_key=Secret("s"), session_token=token
        )
        assert as_tuple(find()) == ("AKIASET", "s", "t")

    def test_of_the_environment_are_used_next(self, monkeypatch):
        assert as_tuple(find_credentials()()) == ("AKIAENV", "of-the-environment", None)
        monkeypatch.setenv("AWS_SESSION_TOKEN", "t")
        monkeypatch.setenv("AWS_PROFILE", "ignored")
        assert as_tuple(find_credentials()()) == ("AKIAENV", "of-the-environment", "t")

    def test_of_a_configured_profile_are_preferred_to_the_environment(self, aws):
        aws("credentials", "[other]\naws_access_key_id = D\naws_secret_access_key = E\n")
        assert as_tuple(find_credentials(profile="other")()) == ("D", "E", None)


class TestProfiles:
    def test_are_read_from_the_credentials_file(self, aws, monkeypatch):
        aws(
            "credentials",
            "[default]\naws_access_key_id = A\naws_secret_access_key = B%C\n"
            "[other]\naws_access_key_id = D\naws_secret_access_key = E\naws_session_token = F\n",
        )
        assert as_tuple(find_credentials()()) == ("A", "B%C", None)
        assert as_tuple(find_credentials(profile="other")()) == ("D", "E", "F")
        monkeypatch.setenv("AWS_PROFILE", "other")
        assert as_tuple(find_credentials()()) == ("D", "E", "F")
        with pytest.raises(StoreRefused, match="third") as error:
            find_credentials(profile="third")()
        assert error.value.kind == "no_credentials"

    def test_are_read_from_a_configured_file(self, tmp_path):
        file = tmp_path / "keys"
        file.write_text("[default]\naws_access_key_id = A\naws_secret_access_key = B\n")
        assert as_tuple(find_credentials(credentials_file=str(file))()) == ("A", "B", None)

    @pytest.mark.parametrize(
        "text", ["aws_secret_access_key = wJalr", "[default]\naws_access_key_id = wJalr\n"]
    )
    def test_that_are_malformed_raise_without_quoting_the_file(self, text, tmp_path):
        file = tmp_path / "credentials"
        file.write_text(text)
        with pytest.raises(StoreRefused) as error:
            find_credentials(credentials_file=str(file))()
        assert error.value.kind == "no_credentials"
        assert "wJalr" not in f"{error.value} {error.value.__cause__}"

    def test_may_assume_a_role(self, aws, service, monkeypatch):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{service.url}/sts")
        aws("credentials", "[base]\naws_access_key_id = A\naws_secret_access_key = B\n")
        aws("config", f"[profile lake]\nrole_arn = {ROLE}\nsource_profile = base\n")
        assert as_tuple(find_credentials(profile="lake")()) == FROM_SERVICE
        assert service.requests == ["POST /sts"]
        assert "Action=AssumeRole&" in service.body
        assert "Credential=A/" in service.headers["Authorization"]

    def test_may_run_a_program(self, aws, tmp_path):
        output = {"Version": 1, "AccessKeyId": "P", "SecretAccessKey": "Q", "SessionToken": "R"}
        program = tmp_path / "program"
        program.write_text(f"import sys; print({json.dumps(output)!r})\n")
        aws("config", f"[default]\ncredential_process = {sys.executable} {program}\n")
        assert as_tuple(find_credentials()()) == ("P", "Q", "R")
        program.write_text("import sys; sys.exit('wJalr')\n")
        with pytest.raises(StoreRefused, match="credential_process has failed") as error:
            find_credentials()()
        assert "wJalr" not in f"{error.value} {error.value.__cause__}"
        aws("config", "[default]\ncredential_process = /nowhere/program\n")
        with pytest.raises(StoreRefused, match="No such file"):
            find_credentials()()

    def test_may_use_single_sign_on(self, aws, service, monkeypatch, tmp_path):
        # botocore reads HOME for this folder once, when it is imported
        folder = str(tmp_path / ".aws/sso/cache")
        monkeypatch.setattr("botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR", folder)
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", service.url)
        start = "https://lake.awsapps.com/start"
        aws(
            "config",
            f"[default]\nsso_start_url = {start}\nsso_region = eu-west-1\n"
            "sso_account_id = 123456789012\nsso_role_name = reader\n",
        )
        with pytest.raises(StoreRefused, match="SSO"):
            find_credentials()()
        name = sha1(start.encode()).hexdigest()
        token = {"startUrl": start, "accessToken": "signed-on", "expiresAt": in_hours(1)}
        aws(f"sso/cache/{name}.json", json.dumps(token))
        assert as_tuple(find_credentials()()) == FROM_SERVICE
        assert service.requests == ["GET /federation/credentials"]
        assert service.headers["x-amz-sso_bearer_token"] == "signed-on"


class TestServices:
    def test_of_containers_return_credentials(self, container):
        assert as_tuple(find_credentials()()) == FROM_SERVICE
        assert container.headers["Authorization"] == "of-the-container"

    def test_of_machines_return_credentials(self, service, monkeypatch):
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.url)
        assert as_tuple(find_credentials()()) == FROM_SERVICE
        assert service.requests == [
            "PUT /latest/api/token",
            "GET /latest/meta-data/iam/security-credentials/",
            "GET /latest/meta-data/iam/security-credentials/our-role",
        ]
        assert service.headers["X-aws-ec2-metadata-token"] == "a-token"

    @pytest.mark.sample(1)
    @pytest.mark.parametrize("region", ["", "eu-west-1"])
    def test_of_pods_return_credentials(self, service, region, tmp_path, monkeypatch):
        (tmp_path / "token").write_text("signed-by-kubernetes")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{service.url}/sts")
        assert as_tuple(find_credentials(region=region)()) == FROM_SERVICE
        assert "WebIdentityToken=signed-by-kubernetes" in service.body
        assert "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Flake" in service.body

    def test_that_refuse_raise_store_refused(self, container, tmp_path, monkeypatch):
        container.status = 403
        with pytest.raises(StoreRefused) as error:
            find_credentials()()
        assert error.value.kind == "no_credentials"
        monkeypatch.delenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        (tmp_path / "token").write_text("signed-by-kubernetes")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{container.url}/sts")
        with pytest.raises(StoreRefused) as error:
            find_credentials()()
        assert error.value.kind == "no_credentials"

    def test_that_do_not_respond_raise_busy(self, monkeypatch):
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/role")
        with pytest.raises(Busy) as error:
            find_credentials()()
        assert error.value.kind == "storage_unreachable"

    def test_are_queried_again_only_shortly_before_expiry(self, container):
        source = find_credentials(check_interval=0)
        for _ in range(3):
            assert as_tuple(source()) == FROM_SERVICE
        assert len(container.requests) == 1
        container.expiration = in_hours(1 / 10)
        source = find_credentials(check_interval=0)
        source()
        before = len(container.requests)
        for _ in range(3):
            source()
        assert len(container.requests) == before + 3


def test_missing_credentials_raise_an_error_at_the_first_request():
    source = find_credentials()
    with pytest.raises(StoreRefused, match="no credentials") as error:
        source()
    assert error.value.kind == "no_credentials"
    assert "AWS_ACCESS_KEY_ID" in error.value.hint


def test_obstore_uses_cached_credentials(s3, bucket):
    fetched = []

    def fetch():
        fetched.append(1)
        return CREDENTIALS

    access = s3.access()
    access.credentials = fetch
    store = s3_blocks(access)
    for _ in range(20):
        store.put(f"s3://{bucket}/a", [b"x"])
    # two for each request before it is made, and one for obstore
    assert len(fetched) <= 42
    assert store.read(f"s3://{bucket}/a") == b"x"


@pytest.mark.usefixtures("environment_keys")
def test_without_botocore_only_keys_can_be_used():
    program = """
import re, sys
sys.modules["botocore"] = None
from anabranch.blocks.s3.credentials import find_credentials
from anabranch.errors import Invalid
print(find_credentials()().access_key_id)
try:
    find_credentials(profile="lake")
except Invalid as error:
    print(error.kind, re.search("pip install '(.*)'", error.hint)[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["AKIAENV", "extra_missing", "anabranch[s3]"]
