"""Weaknesses that were published for lakeFS, each tried on a server of ours. docs/security.md lists
them with these tests.
"""

from __future__ import annotations

import time

import httpx2
import pytest
import yaml
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from anabranch.access.policies.permissions import Action
from anabranch.rest.protocol.operation import Access
from anabranch.rest.table import OPERATIONS
from anabranch.s3.table import OPERATIONS as S3_OPERATIONS
from anabranch.testing.server import running_server

HTML = b"<script>fetch('/api/v1/user')</script>"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A server that logs as much as it can, and its folder."""
    folder = tmp_path_factory.mktemp("lake")
    env = {"ANABRANCH_LOGGING_LEVEL": "TRACE", "ANABRANCH_LOGGING_AUDIT_LOG_LEVEL": "INFO"}
    with running_server(folder, env=env) as server:
        yield server


@pytest.fixture(scope="module")
def api(lake):
    with httpx2.Client(base_url=lake.api, auth=lake.auth, timeout=30) as client:
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert client.post("/repositories", json=body).status_code == 201
        yield client


def actions(operations, name):
    (operation,) = (each for each in operations if each.id == name)
    return [need.action for need in operation.permission]


def signed(lake, method, path, *, age=0.0):
    """Returns the headers of a request that was signed a time ago, in seconds."""
    request = AWSRequest(method, f"{lake.url}{path}", data=b"")
    signer = S3SigV4Auth(Credentials(*lake.auth), "s3", "us-east-1")
    request.context["timestamp"] = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - age))
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    request.headers["X-Amz-Content-SHA256"] = signer.payload(request)
    canonical = signer.canonical_request(request)
    signer._inject_signature_to_request(
        request, signer.signature(signer.string_to_sign(request, canonical), request)
    )
    return dict(request.headers)


def test_old_signatures_of_s3_are_refused(lake, api):  # GHSA-f2ph-gc9m-q55f
    assert api.get("/repositories/sea").status_code == 200
    for age, status in ((0, 200), (14 * 60, 200), (16 * 60, 403), (30 * 86_400, 403)):
        headers = signed(lake, "GET", "/sea", age=age)
        answer = httpx2.get(f"{lake.url}/sea", headers=headers)
        assert answer.status_code == status, (age, answer.text)
        assert status == 200 or b"RequestTimeTooSkewed" in answer.content


@pytest.mark.parametrize(
    "namespace", ["local://../other", "local://a/../../other", "local:///../etc", "local://a/.."]
)
def test_namespaces_outside_of_the_local_store_are_refused(api, namespace):  # v1.77
    body = {"name": "escape", "storage_namespace": namespace}
    assert api.post("/repositories", json=body).status_code == 400
    assert api.get("/repositories/escape").status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "local://sea/../secret",
        "local://sea/data/../../secret",
        "local:///etc/passwd",
        "/etc/passwd",
    ],
)
def test_addresses_outside_of_the_local_store_are_refused(api, address):  # v1.77
    entry = {"physical_address": address, "checksum": "x", "size_bytes": 1}
    place = "/repositories/sea/branches/main"
    staged = api.put(f"{place}/objects", params={"path": "stolen"}, json=entry)
    assert staged.status_code in (400, 403), staged.text
    link = {"staging": {"physical_address": address}, "checksum": "x", "size_bytes": 1}
    linked = api.put(f"{place}/staging/backing", params={"path": "stolen"}, json=link)
    assert linked.status_code in (400, 403), linked.text
    assert api.get("/repositories/sea/refs/main/objects/stat", params={"path": "stolen"}).is_error


@pytest.mark.parametrize("name", ["page.html", "page.svg", "page.md", "page"])
def test_content_of_users_cannot_run_in_the_origin_of_the_server(api, name):
    """GHSA-9phh-r37v-34wh, and scripts in Markdown (v1.81.1)."""
    place = "/repositories/sea/branches/main/objects"
    for content_type in ("text/html", "image/svg+xml", "application/xhtml+xml"):
        headers = {"Content-Type": content_type}
        sent = api.post(place, params={"path": name}, content=HTML, headers=headers)
        assert sent.status_code == 201
        read = api.get("/repositories/sea/refs/main/objects", params={"path": name})
        assert read.content == HTML
        assert "default-src 'none'" in read.headers["content-security-policy"]
        assert read.headers["x-content-type-options"] == "nosniff"


def test_the_usage_report_needs_authentication(lake):  # GHSA-h238-5mwf-8xw8
    assert httpx2.get(f"{lake.api}/usage-report/summary").status_code == 401


def test_only_operations_that_must_be_are_open_to_everyone():
    """Among others GHSA-h238-5mwf-8xw8: an operation cannot lack a declaration by mistake."""
    anonymous = {each.id for each in OPERATIONS if each.permission is Access.NO_AUTH}
    assert anonymous == {
        *("getSetupState", "setup", "setupCommPrefs", "login", "oauthCallback", "healthCheck"),
        *("getAuthCapabilities", "externalPrincipalLogin", "stsLogin"),
    }


def test_setup_changes_nothing_after_setup(lake, api):  # lakeFS's issue 10499
    before = api.get("/auth/users").json()
    body = {"username": "mallory", "key": {"access_key_id": "AKIA", "secret_access_key": "s" * 20}}
    for _ in range(2):
        answer = httpx2.post(f"{lake.api}/setup_lakefs", json=body)
        assert answer.status_code == 409
        assert "secret" not in answer.text
    prefs = {"email": "m@example.com", "featureUpdates": False, "securityUpdates": False}
    httpx2.post(f"{lake.api}/setup_comm_prefs", json=prefs)
    assert api.get("/auth/users").json() == before
    wrong = {"access_key_id": "AKIA", "secret_access_key": "s" * 20}
    assert httpx2.post(f"{lake.api}/auth/login", json=wrong).status_code == 401


@pytest.mark.parametrize("parts", [10_001, 2**31, 2**63 - 1])
def test_uploads_with_absurd_numbers_of_parts_are_refused(api, parts):  # GHSA-j7jw-28jm-whr6
    place = "/repositories/sea/branches/main/staging/pmpu"
    begun = time.monotonic()
    answer = api.post(place, params={"path": "a", "parts": parts})
    assert 400 <= answer.status_code < 600
    assert answer.status_code != 500
    assert time.monotonic() - begun < 30
    assert api.get("/repositories/sea").status_code == 200


def test_copies_need_permission_to_read_the_source_and_to_write_the_copy():
    """GHSA-m836-gxwq-j2pm and GHSA-fvv5-h29g-f6w5."""
    expected = [Action.READ_OBJECT, Action.WRITE_OBJECT]
    assert actions(OPERATIONS, "copyObject") == expected
    assert actions(S3_OPERATIONS, "CopyObject") == expected
    assert actions(S3_OPERATIONS, "UploadPartCopy") == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("dumpRefs", "dumpSubmit"), {Action.LIST_TAGS, Action.LIST_BRANCHES, Action.LIST_COMMITS}),
        (
            ("restoreRefs", "restoreSubmit"),
            {Action.CREATE_TAG, Action.CREATE_BRANCH, Action.CREATE_COMMIT},
        ),
        (
            ("getRange", "getMetaRange"),
            {Action.LIST_OBJECTS, Action.READ_REPOSITORY, Action.READ_OBJECT},
        ),
    ],
)
def test_bulk_access_to_references_needs_all_permissions(names, expected):  # GHSA-m836-gxwq-j2pm
    for name in names:
        assert set(actions(OPERATIONS, name)) == expected


@pytest.mark.parametrize(
    ("type_", "properties", "refusal"),
    [
        ("lua", {"script": "print(os.getenv('PATH'))"}, "global 'os'"),
        ("lua", {"script": "io.open('/proc/self/environ')"}, "global 'io'"),
        ("lua", {"script": "x = 1", "args": {"a": "{{ENV.PATH}}"}}, "variable 'PATH'"),
        ("webhook", {"url": "http://h", "headers": {"A": "{{ ENV.HOME }}"}}, "variable 'HOME'"),
    ],
)
def test_hooks_do_not_read_the_environment(api, type_, properties, refusal):  # GHSA-26hr-q2wp-rvc5
    hook = {"id": "spy", "type": type_, "properties": properties}
    content = yaml.safe_dump({"on": {"pre-commit": None}, "hooks": [hook]})
    place = "/repositories/sea/branches/main"
    path = {"path": "_lakefs_actions/spy.yaml"}
    assert api.post(f"{place}/objects", params=path, content=content).status_code == 201
    answer = api.post(f"{place}/commits", json={"message": "spy"})
    assert api.delete(f"{place}/objects", params=path).status_code == 204
    assert answer.status_code in {400, 412}
    assert refusal in answer.json()["message"]


def test_secrets_are_never_logged(lake, api):  # GHSA-4rgc-5g6r-2rjf
    pair = {"access_key_id": lake.access_key_id, "secret_access_key": lake.secret_access_key}
    token = httpx2.post(f"{lake.api}/auth/login", json=pair).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert httpx2.get(f"{lake.api}/user", headers=headers).status_code == 200
    s3 = signed(lake, "GET", "/sea")
    assert httpx2.get(f"{lake.url}/sea", headers=s3).status_code == 200
    wrong = {**pair, "secret_access_key": "wrong-secret-of-a-user"}
    assert httpx2.post(f"{lake.api}/auth/login", json=wrong).status_code == 401
    httpx2.get(f"{lake.url}/sea", headers={**s3, "X-Amz-Date": "bad"})
    assert api.get("/repositories/no-such").status_code == 404
    log = lake.log.read_text()
    assert "/repositories/no-such" in log or "getRepository" in log
    signature = s3["Authorization"].rpartition("=")[2]
    for secret in (lake.secret_access_key, token, "wrong-secret-of-a-user", signature):
        assert secret not in log
