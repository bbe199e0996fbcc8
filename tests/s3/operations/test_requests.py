"""Requests as they are sent: who may come in, where they go, and what is refused."""

from __future__ import annotations

import hashlib
import re
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from anabranch.model.secret import Secret
from anabranch.signing.sign import SigningCredentials, sign_request

DOMAIN = "s3.local.lakefs.io"


@pytest.fixture
def send(server):
    """Sends a signed request; `headers` are signed too, `damage` changes what was signed."""

    def send(
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: dict[str, str] | None = None,
        secret: str = server.secret_access_key,
        sent_body: bytes | None = None,
        skew: float = 0,
        **damage: str,
    ) -> httpx2.Response:
        signer = SigningCredentials(server.access_key_id, Secret(secret), "us-east-1")
        signed = sign_request(
            signer,
            method,
            server.url + path,
            headers or {},
            time=time.time() + skew,
            payload=hashlib.sha256(body).hexdigest(),
        )
        return httpx2.request(
            method,
            server.url + path,
            headers=signed.headers | damage,
            content=body if sent_body is None else sent_body,
        )

    return send


def error_of(answer: Any) -> str:
    assert answer.headers["content-type"] == "application/xml"
    text = answer.text
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>')
    request_id = re.search("<RequestId>(.+)</RequestId>", text)
    assert request_id is not None
    assert request_id[1] == answer.headers["x-amz-request-id"]
    assert f"<Resource>{answer.request.url.raw_path.decode().partition('?')[0]}</Resource>" in text
    return re.findall("<Code>(.+?)</Code>", text)[0]


def test_wrong_signatures_change_nothing(send, s3, bucket):
    path = f"/{bucket}/main/a"
    refused = [
        (send("PUT", path, b"abc", secret="wrong"), "SignatureDoesNotMatch", 403),
        (send("PUT", path, b"abc", sent_body=b"other"), "XAmzContentSHA256Mismatch", 400),
        (send("PUT", path, b"abc", skew=-1000), "RequestTimeTooSkewed", 403),
        (send("PUT", path, b"abc", Authorization="AWS4-HMAC-SHA256 x"), None, 400),
    ]
    for answer, code, status in refused:
        assert answer.status_code == status
        assert code in {None, error_of(answer)}
    unknown = send("GET", path, headers={}, Authorization="AWS AKIAUNKNOWN:c2lnbmF0dXJl")
    assert (error_of(unknown), unknown.status_code) == ("InvalidAccessKeyId", 403)
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0
    assert send("PUT", path, b"abc").status_code == 200


def test_answers_to_head_have_no_body(send, bucket):
    answer = send("HEAD", f"/{bucket}/main/none")
    assert (answer.status_code, answer.content) == (404, b"")
    assert answer.headers["x-amz-request-id"]


def test_the_apis_own_credentials_at_the_servers_names(server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"abc")
    pair = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
    token = httpx2.post(f"{server.api}/auth/login", json=pair).json()["token"]
    url = f"{server.url}/{bucket}/main/a"
    host = {"host": DOMAIN}
    assert httpx2.get(url, headers=host, auth=server.auth).content == b"abc"
    assert httpx2.get(url, headers=host | {"authorization": f"Bearer {token}"}).content == b"abc"
    cookie = {"cookie": f"internal_auth_session={token}"}
    assert httpx2.get(url, headers=host | cookie).content == b"abc"
    nobody = httpx2.get(url, headers=host)
    assert (error_of(nobody), nobody.status_code) == ("AccessDenied", 403)
    wrong = httpx2.get(url, headers=host, auth=("AKIAUNKNOWN", "wrong"))
    assert (error_of(wrong), wrong.status_code) == ("AccessDenied", 403)
    with_port = httpx2.get(url, headers={"host": f"{DOMAIN.upper()}:8000"}, auth=server.auth)
    assert with_port.content == b"abc"


def test_virtual_hosts(server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"abc")
    host = f"{bucket}.{DOMAIN}:8000"
    signer = SigningCredentials(server.access_key_id, Secret(server.secret_access_key), "eu-west-9")

    def read(path: str) -> httpx2.Response:
        signed = sign_request(signer, "GET", f"http://{host}{path}", {}, time=time.time())
        return httpx2.get(server.url + path, headers=signed.headers)

    assert read("/main/a").content == b"abc"
    assert f"<Name>{bucket}</Name>" in read("/?list-type=2").text
    basic = httpx2.get(f"{server.url}/main/a", headers={"host": host}, auth=server.auth)
    assert basic.content == b"abc"


def test_the_api_stays_where_it_was(server, api):
    assert api.get("/config").is_success
    assert (
        httpx2.get(f"{server.url}/bucket/main/a").headers.get("content-type") != "application/xml"
    )


BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    b"<Delete><Object><Key>main/&b;</Key></Object></Delete>"
)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no xml",
        b"<Delete>",
        b"<Delete/>",
        b"<Other><Object><Key>main/a</Key></Object></Other>",
        b"<Delete><Object></Object></Delete>",
        b"<Delete><Object><Key>main/&unknown;</Key></Object></Delete>",
        b"<Delete><Object><Key>main/\xff</Key></Object></Delete>",
        b"<a>" * 1000,
        BOMB,
    ],
)
def test_bad_documents(send, s3, bucket, body):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"abc")
    answer = send("POST", f"/{bucket}?delete=", body)
    assert (error_of(answer), answer.status_code) == ("MalformedXML", 400)
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 1


def test_bad_requests(send, bucket):
    refused = [
        (send("POST", f"/{bucket}/main/a"), "MethodNotAllowed", 405),
        (send("PUT", f"/{bucket}/main/%ff", b"x"), "InvalidURI", 400),
        (send("GET", f"/{bucket}?prefix=%ff"), "InvalidURI", 400),
        (send("GET", f"/{bucket}?max-keys=many"), "InvalidArgument", 400),
        (send("GET", f"/{bucket}?encoding-type=other"), "InvalidArgument", 400),
        (send("GET", f"/{bucket}?list-type=3"), "InvalidArgument", 400),
        (send("GET", "/Not_A_Bucket/main/a"), "InvalidBucketName", 400),
        (
            send("PUT", f"/{bucket}/main/a", b"x", headers={"x-amz-tagging": "a=1&a=2"}),
            "InvalidTag",
            400,
        ),
        (
            send("PUT", f"/{bucket}/main/a", b"x", headers={"if-none-match": '"etag"'}),
            "NotImplemented",
            501,
        ),
        (send("POST", f"/{bucket}?delete=", b"<Delete>" + b" " * (8 << 20)), None, 400),
    ]
    for answer, code, status in refused:
        assert answer.status_code == status, answer.text
        assert code in {None, error_of(answer)}


def test_listings_without_encoding_escape_their_keys(send, s3, bucket):
    s3.put_object(Bucket=bucket, Key="main/a<&>\"'é😀", Body=b"")
    text = send("GET", f"/{bucket}?list-type=2&prefix=main%2F").text
    assert "<Key>main/a&lt;&amp;&gt;&quot;'é😀</Key>" in text
    assert "<EncodingType>" not in text


def test_a_client_that_stops_in_the_middle_leaves_nothing(server, s3, bucket):
    url = urlsplit(server.url)
    signer = SigningCredentials(server.access_key_id, Secret(server.secret_access_key), "us-east-1")
    path = f"/{bucket}/main/broken"
    headers = sign_request(
        signer, "PUT", server.url + path, {"Content-Length": "3000000"}, time=time.time()
    ).headers
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection((url.hostname, url.port)) as connection:
        connection.sendall(f"PUT {path} HTTP/1.1\r\n{head}\r\n".encode() + b"x" * 1_500_000)
    time.sleep(0.3)
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0
