"""Authentication comes first: unauthenticated requests get no error but that of authentication."""

from __future__ import annotations

import re
from contextlib import closing

import httpx2
import pytest
from support.clients.raw_connection import Wire

from anabranch.http.execution import BodyKind
from anabranch.rest.protocol.operation import Access
from anabranch.rest.table import BASE_PATH, EXTENSIONS, OPERATIONS

AUTHENTICATED = [
    operation
    for operation in (*OPERATIONS, *EXTENSIONS)
    if operation.permission not in {Access.NO_AUTH, Access.ANYONE}
]
INVALID = {
    "none": {},
    "basic": {"Authorization": "Basic YTpi"},
    "basic-malformed": {"Authorization": "Basic %%%"},
    "bearer": {"Authorization": "Bearer a.b.c"},
    "cookie": {"Cookie": "internal_auth_session=a.b.c"},
    "other-cookie": {"Cookie": "a=b"},
}
TOO_LONG = b"{" + b" " * (9 << 20)


@pytest.fixture(scope="module")
def anonymous(shared_server):
    with httpx2.Client(base_url=shared_server.server.url, timeout=30) as client:
        yield client


def malformed(operation):
    """Returns the method and URL of a request with invalid values for all parameters."""
    path = BASE_PATH + re.sub(r"\{(\w+)\}", "!%00~", operation.path)
    query = "amount=x&path=&force=2&type=&after=%ff&presign=maybe&part_number=-1"
    return operation.method, f"{path}?{query}"


def test_most_operations_require_credentials():
    assert len(AUTHENTICATED) > 120


@pytest.mark.sample(2)
@pytest.mark.parametrize("credentials", INVALID)
def test_every_operation_authenticates_before_it_validates(anonymous, credentials):
    statuses = {}
    for operation in AUTHENTICATED:
        method, url = malformed(operation)
        headers = {**INVALID[credentials], "Content-Type": "text/nonsense", "Range": "x"}
        body = b"{" if operation.body_kind is not BodyKind.NONE else b""
        response = anonymous.request(method, url, headers=headers, content=body)
        statuses[operation.id] = response.status_code
        if method != "HEAD":
            assert response.json() == {"message": "error authenticating request"}
    assert {name: status for name, status in statuses.items() if status != 401} == {}


@pytest.mark.parametrize("credentials", INVALID)
def test_a_request_with_a_body_that_is_too_long_is_authenticated_first(anonymous, credentials):
    headers = {**INVALID[credentials], "Content-Type": "application/json"}
    response = anonymous.post(f"{BASE_PATH}/repositories", headers=headers, content=TOO_LONG)
    assert response.status_code == 401


def test_a_request_without_credentials_is_refused_before_its_body_arrives(shared_server):
    with closing(Wire(shared_server.connect())) as wire:
        head = "POST /api/v1/repositories/sea/branches/main/objects?path=a HTTP/1.1"
        wire.send(f"{head}\r\nHost: sea\r\nContent-Length: 1000000\r\n\r\n".encode())
        assert wire.read_response()[0] == 401


def test_authenticated_clients_get_the_error_of_their_request(shared_server):
    response = shared_server.api.post("/repositories", json={"name": "!"})
    assert response.status_code == 400


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/sea?list-type=2&max-keys=x"),
        ("GET", "/sea?list-type=3"),
        ("GET", "/sea/main/a?partNumber=x"),
        ("PUT", "/sea/main/a?partNumber=x&uploadId=y"),
        ("POST", "/sea/main/a?nothing"),
        ("POST", "/sea/main/a"),
        ("PATCH", "/sea/main/a"),
        ("PUT", "/sea?acl&cors"),
        ("DELETE", "/"),
    ],
)
@pytest.mark.parametrize("credentials", ["none", "signature"])
def test_s3_verifies_the_signature_first(anonymous, method, target, credentials):
    headers = {"X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD", "X-Amz-Date": "20260101T000000Z"}
    headers["Host"] = "s3.local.lakefs.io"
    scope = "AKIAJNOBODYNOBODYNOQ/20260101/us-east-1/s3/aws4_request"
    if credentials == "signature":
        headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={scope}, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=" + "0" * 64
        )
    response = anonymous.request(method, target, headers=headers)
    assert response.status_code == 403, response.text
