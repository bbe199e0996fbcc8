"""Block stores as settings ask for them, and where credentials come from."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from anabranch.blocks.s3_credentials import find_credentials
from anabranch.errors import Invalid, StoreRefused
from anabranch.model.secret import Secret
from anabranch.server.block_stores import open_blocks, presigned_seconds
from anabranch.server.setting import build

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "of-the-environment"}
NOWHERE = {"AWS_EC2_METADATA_DISABLED": "true"}


def opened(environment=None, **values):
    settings = build({name.replace("__", "."): value for name, value in values.items()})
    return open_blocks(settings.blockstore, environment or {})


@pytest.mark.parametrize(
    ("kind", "namespace"),
    [
        ("mem", "mem://a"),
        ("s3", "s3://a"),
        ("gs", "gs://a"),
        ("azure", "https://a.blob.core.windows.net/b"),
    ],
)
def test_each_type_is_opened_without_asking_anybody(kind, namespace):
    store = opened(blockstore__type=kind)
    assert store.config.blockstore_type == kind
    assert store.accepts(namespace)


def test_clients_are_told_where_repositories_may_lie():
    store = opened(blockstore__type="s3", blockstore__default_namespace_prefix="s3://lake/")
    assert store.config.default_namespace_prefix == "s3://lake/"


@pytest.mark.parametrize("wrong", ["minio:9000", "ftp://minio", "https://", "/minio"])
def test_an_endpoint_that_is_no_url_is_refused(wrong):
    with pytest.raises(Invalid, match=r"blockstore\.s3\.endpoint is .* no URL"):
        opened(blockstore__type="s3", blockstore__s3__endpoint=wrong)


def test_settings_reach_the_store(emulated_s3):
    store = opened(
        blockstore__type="s3",
        blockstore__s3__endpoint=emulated_s3.endpoint,
        blockstore__s3__force_path_style=True,
        environment=KEYS,
    )
    emulated_s3.make_bucket("settings")
    store.put("s3://settings/a", [b"x"])
    assert emulated_s3.blocks().read("s3://settings/a") == b"x"


@pytest.mark.parametrize("kind", ["s3", "gs", "azure"])
def test_presigned_urls_are_set_for_each_type_by_itself(kind):
    values = {"type": kind, f"{kind}.pre_signed_expiry": 90, f"{kind}.disable_pre_signed": True}
    settings = build({f"blockstore.{name}": value for name, value in values.items()})
    assert presigned_seconds(settings.blockstore) == 90
    config = open_blocks(settings.blockstore, {}).config
    assert not config.pre_sign_support
    assert not config.pre_sign_multipart_upload
    others = build({"blockstore.type": kind, "blockstore.local.pre_signed_expiry": 90})
    assert presigned_seconds(others.blockstore) == 15 * 60
    assert open_blocks(others.blockstore, {}).config.pre_sign_support


@pytest.mark.parametrize("kind", ["local", "mem"])
def test_presigned_urls_of_this_machine_are_off_unless_they_are_set(kind, tmp_path):
    values = {"blockstore.type": kind, "blockstore.local.path": tmp_path}
    for pre_signed, changes in ((False, {}), (True, {"blockstore.local.pre_signed": True})):
        config = open_blocks(build(values | changes).blockstore, {}).config
        assert config.pre_sign_support is pre_signed
        assert config.pre_sign_multipart_upload is pre_signed
        assert config.pre_sign_support_ui is False


class TestCredentials:
    """Where they are looked for."""

    def test_of_the_settings_come_first(self):
        found = find_credentials(
            KEYS,
            access_key_id="AKIASET",
            secret_access_key=Secret("s"),
            session_token=Secret("t"),
        )()
        assert (found.access_key_id, found.secret.reveal(), found.token) == ("AKIASET", "s", "t")

    def test_of_the_environment(self):
        found = find_credentials(KEYS)()
        assert (found.access_key_id, found.token) == ("AKIAENV", None)
        assert find_credentials({**KEYS, "AWS_SESSION_TOKEN": "t"})().token == "t"

    def test_of_a_file(self, tmp_path):
        folder = tmp_path / ".aws"
        folder.mkdir()
        (folder / "credentials").write_text(
            "[default]\naws_access_key_id = A\naws_secret_access_key = B%C\n"
            "[other]\naws_access_key_id = D\naws_secret_access_key = E\naws_session_token = F\n"
        )
        home = {"HOME": str(tmp_path), **NOWHERE}
        assert find_credentials(home)().secret.reveal() == "B%C"
        other = find_credentials({**home, **KEYS}, profile="other")()
        assert (other.access_key_id, other.token) == ("D", "F")
        assert find_credentials({**home, "AWS_PROFILE": "other"})().access_key_id == "D"
        with pytest.raises(StoreRefused) as error:
            find_credentials(home, profile="third")()
        assert error.value.kind == "no_credentials"

    def test_that_cannot_be_read_do_not_show_themselves(self, tmp_path):
        file = tmp_path / "credentials"
        file.write_text("aws_secret_access_key = wJalrXUtnFEMI")
        with pytest.raises(StoreRefused) as error:
            find_credentials(NOWHERE, credentials_file=str(file))()
        assert "wJalr" not in f"{error.value} {error.value.__cause__}"

    def test_that_are_nowhere_are_missed_when_they_are_needed(self):
        store = opened(environment=NOWHERE, blockstore__type="s3", blockstore__s3__region="x")
        with pytest.raises(StoreRefused) as error:
            store.put("s3://lake/a", [b"x"])
        assert error.value.kind == "no_credentials"
        assert "AWS_ACCESS_KEY_ID" in error.value.hint

    def test_are_renewed_before_they_expire(self, service):
        now = [service.expires - 1_000]
        source = find_credentials(service.container, clock=lambda: now[0])
        assert source() is source()
        now[0] = service.expires - 299
        source()
        assert service.asked == ["GET /role", "GET /role"]

    def test_of_a_container(self, service):
        found = find_credentials(service.container)()
        assert (found.access_key_id, found.secret.reveal(), found.token) == ("AKIASVC", "s", "t")
        assert service.headers["Authorization"] == "of-the-container"

    def test_of_a_machine(self, service):
        found = find_credentials({"AWS_EC2_METADATA_SERVICE_ENDPOINT": service.url})()
        assert found.access_key_id == "AKIASVC"
        assert service.asked == [
            "PUT /latest/api/token",
            "GET /latest/meta-data/iam/security-credentials/",
            "GET /latest/meta-data/iam/security-credentials/our-role",
        ]
        assert service.headers["X-aws-ec2-metadata-token"] == "a-token"

    def test_of_a_pod(self, service, tmp_path):
        (tmp_path / "token").write_text("signed-by-kubernetes\n")
        environment = {
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
            "AWS_ROLE_ARN": "arn:aws:iam::1:role/lake",
            "AWS_ENDPOINT_URL_STS": f"{service.url}/sts",
        }
        assert find_credentials(environment)().expires == service.expires
        assert "WebIdentityToken=signed-by-kubernetes" in service.body
        assert "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Flake" in service.body


@pytest.fixture
def service():
    """Something that gives credentials as AWS's services do."""
    given = {
        "AccessKeyId": "AKIASVC",
        "SecretAccessKey": "s",
        "Token": "t",
        "Expiration": "2033-05-18T03:33:20Z",
    }
    fields = {**given, "SessionToken": "t"}
    document = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    sts = f'<A xmlns="https://sts.amazonaws.com/"><R><Credentials>{document}</Credentials></R></A>'

    class Answers(BaseHTTPRequestHandler):
        def answer(self):
            server.asked.append(f"{self.command} {self.path}")
            server.headers = self.headers
            length = int(self.headers.get("Content-Length") or 0)
            server.body = self.rfile.read(length).decode()
            answer = json.dumps(given)
            if self.path == "/latest/api/token":
                answer = "a-token"
            elif self.path.endswith("security-credentials/"):
                answer = "our-role"
            elif self.path == "/sts/":
                answer = sts
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        do_GET = do_PUT = do_POST = answer  # noqa: N815  the names of http.server

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.asked, server.expires = [], 2_000_000_000
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.container = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/role",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "of-the-container",
    }
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
