"""A client that is not known learns nothing about its request but that: whatever else is wrong with
it, it is refused for its credentials.
"""

from __future__ import annotations

import re
from contextlib import closing

import httpx2
import pytest
from support.clients.raw_connection import Wire

from anabranch.http.execution import BodyKind
from anabranch.rest.protocol.operation import Access
from anabranch.rest.table import BASE_PATH, EXTENSIONS, OPERATIONS

ASKED = [
    operation
    for operation in (*OPERATIONS, *EXTENSIONS)
    if operation.permission not in {Access.NO_AUTH, Access.ANYONE}
]
WRONG = {
    "none": {},
    "basic": {"Authorization": "Basic YTpi"},
    "basic-malformed": {"Authorization": "Basic %%%"},
    "bearer": {"Authorization": "Bearer a.b.c"},
    "cookie": {"Cookie": "internal_auth_session=a.b.c"},
    "other-cookie": {"Cookie": "a=b"},
}
LONG = b"{" + b" " * (9 << 20)


@pytest.fixture(scope="module")
def stranger(shared_server):
    with httpx2.Client(base_url=shared_server.server.url, timeout=30) as client:
        yield client


def malformed(operation):
    """Returns a request of an operation in which everything that it takes is wrong."""
    path = BASE_PATH + re.sub(r"\{(\w+)\}", "!%00~", operation.path)
    query = "amount=x&path=&force=2&type=&after=%ff&presign=maybe&part_number=-1"
    return operation.method, f"{path}?{query}"


def test_most_operations_ask_for_credentials():
    assert len(ASKED) > 120


@pytest.mark.parametrize("credentials", WRONG)
def test_every_operation_authenticates_before_it_validates(stranger, credentials):
    answers = {}
    for operation in ASKED:
        method, url = malformed(operation)
        headers = {**WRONG[credentials], "Content-Type": "text/nonsense", "Range": "x"}
        body = b"{" if operation.body_kind is not BodyKind.NONE else b""
        answer = stranger.request(method, url, headers=headers, content=body)
        answers[operation.id] = answer.status_code
        if method != "HEAD":
            assert answer.json() == {"message": "error authenticating request"}
    assert {name: status for name, status in answers.items() if status != 401} == {}


@pytest.mark.parametrize("credentials", WRONG)
def test_a_body_that_is_too_long_does_not_come_first(stranger, credentials):
    headers = {**WRONG[credentials], "Content-Type": "application/json"}
    answer = stranger.post(f"{BASE_PATH}/repositories", headers=headers, content=LONG)
    assert answer.status_code == 401


def test_without_credentials_nothing_of_a_body_is_waited_for(shared_server):
    with closing(Wire(shared_server.connect())) as wire:
        head = "POST /api/v1/repositories/sea/branches/main/objects?path=a HTTP/1.1"
        wire.send(f"{head}\r\nHost: sea\r\nContent-Length: 1000000\r\n\r\n".encode())
        assert wire.answer()[0] == 401


def test_authenticated_clients_get_the_error_of_their_request(shared_server):
    answer = shared_server.api.post("/repositories", json={"name": "!"})
    assert answer.status_code == 400


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
def test_s3_looks_at_the_signature_first(stranger, method, target, credentials):
    headers = {"X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD", "X-Amz-Date": "20260101T000000Z"}
    headers["Host"] = "s3.local.lakefs.io"
    scope = "AKIAJNOBODYNOBODYNOQ/20260101/us-east-1/s3/aws4_request"
    if credentials == "signature":
        headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={scope}, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=" + "0" * 64
        )
    answer = stranger.request(method, target, headers=headers)
    assert answer.status_code == 403, answer.text
