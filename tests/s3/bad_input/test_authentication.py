"""Requests without valid authentication."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from email.utils import formatdate

import pytest

TEA = "/sea/main/abc"
NEW = "/sea/main/new"
QUARTER, WEEK = 15 * 60, 7 * 24 * 3600

HEADERS = [
    ("secret", {"secret": "wrong"}, 403, "SignatureDoesNotMatch"),
    ("unknown key", {"key": "AKIAJNOBODYNOBODYNOQ"}, 403, "InvalidAccessKeyId"),
    ("old", {"skew": -QUARTER - 5}, 403, "RequestTimeTooSkewed"),
    ("of the future", {"skew": QUARTER + 30}, 403, "RequestTimeTooSkewed"),
    ("other host", {"then": {"Host": "elsewhere"}}, 403, "SignatureDoesNotMatch"),
    ("no date", {"then": {"X-Amz-Date": None}}, 403, "AccessDenied"),
    ("bad date", {"then": {"X-Amz-Date": "yesterday"}}, 403, "AccessDenied"),
    ("no digest", {"then": {"X-Amz-Content-Sha256": None}}, 400, "InvalidRequest"),
    ("header added", {"then": {"x-amz-meta-a": "b"}}, 403, "AccessDenied"),
    (
        "header changed",
        {"headers": {"x-amz-meta-a": "b"}, "then": {"x-amz-meta-a": "c"}},
        403,
        "SignatureDoesNotMatch",
    ),
    ("other scheme", {"then": {"Authorization": "AWS4-HMAC-SHA1 x"}}, 400, "InvalidRequest"),
]

SCOPE = "a/20240229/us-east-1/s3/aws4_request"
MALFORMED = [
    "AWS4-HMAC-SHA256",
    "AWS4-HMAC-SHA256 ",
    "AWS4-HMAC-SHA256 x",
    "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host",
    "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c",
    f"AWS4-HMAC-SHA256 Credential={SCOPE}, Credential=a, SignedHeaders=host, Signature=c",
    f"AWS4-HMAC-SHA256 Credential={SCOPE.replace('s3', 'ec2')}, SignedHeaders=host, Signature=c",
    f"AWS4-HMAC-SHA256 Credential={SCOPE}/more, SignedHeaders=host, Signature=c",
    "AWS4-HMAC-SHA256 Credential=" + "/" * 5000 + ", SignedHeaders=host, Signature=c",
]


@pytest.mark.parametrize(
    ("how", "status", "code"), [pytest.param(*case, id=name) for name, *case in HEADERS]
)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_signed_headers(wire, method, how, status, code):
    path = NEW if method == "PUT" else TEA
    body = b"other" if method == "PUT" else b""
    wire.refuses(wire.request(method, path, body, **how), status, code)


@pytest.mark.parametrize("authorization", MALFORMED)
def test_malformed_headers(wire, authorization):
    raw = wire.request("DELETE", TEA, then={"Authorization": authorization})
    wire.refuses(raw, 400, "AuthorizationHeaderMalformed")


def test_a_header_that_comes_twice(wire):
    authorization = wire.sign("DELETE", TEA).headers["Authorization"]
    raw = wire.request("DELETE", TEA)
    line = f"Authorization: {authorization}\r\n".encode()
    wire.refuses(raw.replace(b"\r\n", b"\r\n" + line, 1), 400, "AuthorizationHeaderMalformed")


def test_another_method_and_another_path(wire):
    delete = wire.request("DELETE", NEW)
    wire.refuses(delete.replace(b"/new ", b"/abc "), 403, "SignatureDoesNotMatch")
    head = wire.request("GET", TEA)
    wire.refuses(head.replace(b"GET ", b"DELETE "), 403, "SignatureDoesNotMatch")


def test_a_body_that_is_not_the_one_that_was_signed(wire):
    raw = wire.request("PUT", NEW, b"green", sent=b"black")
    wire.refuses(raw, 400, "XAmzContentSHA256Mismatch")
    document = b"<Delete><Object><Key>main/%s</Key></Object></Delete>"
    raw = wire.request("POST", "/sea?delete=", document % b"new", sent=document % b"abc")
    wire.refuses(raw, 400, "XAmzContentSHA256Mismatch")


@pytest.mark.parametrize(
    ("expires", "skew", "code"),
    [
        (60, -61, "AccessDenied"),
        (60, -QUARTER, "AccessDenied"),
        (60, QUARTER + 30, "AccessDenied"),
        (WEEK, -WEEK - 1, "AccessDenied"),
        (WEEK + 1, 0, "AuthorizationQueryParametersError"),
        (-1, 0, "AuthorizationQueryParametersError"),
    ],
)
def test_presigned_urls_out_of_their_time(wire, expires, skew, code):
    status = 403 if code == "AccessDenied" else 400
    for method, path in (("DELETE", TEA), ("PUT", NEW)):
        target = wire.presign(method, path, expires=expires, skew=skew)
        raw = wire.raw(method, target, {"Host": host(wire), "Content-Length": "3"}, b"abc")
        wire.refuses(raw, status, code)


@pytest.mark.parametrize("age", [0, QUARTER + 60, 3600, WEEK - 60])
def test_a_presigned_url_holds_for_as_long_as_it_says(wire, age):
    target = wire.presign("GET", TEA, expires=WEEK, skew=-age)
    assert wire.send(wire.raw("GET", target, {"Host": host(wire)})).body == b"0123456789"


def test_small_clock_skew_is_accepted(wire):
    for skew in (-QUARTER + 60, QUARTER - 60):
        assert wire.send(wire.request("GET", TEA, skew=skew)).body == b"0123456789"


@pytest.mark.parametrize(
    ("old", "new", "status", "code"),
    [
        ("main/abc", "main/staged", 403, "SignatureDoesNotMatch"),
        ("X-Amz-Expires=60", "X-Amz-Expires=61", 403, "SignatureDoesNotMatch"),
        ("&X-Amz-Expires=60", "", 400, "AuthorizationQueryParametersError"),
        ("X-Amz-Expires=60", "X-Amz-Expires=soon", 400, "AuthorizationQueryParametersError"),
        (
            "X-Amz-Expires=60",
            "X-Amz-Expires=60&X-Amz-Expires=60",
            400,
            "AuthorizationQueryParametersError",
        ),
        ("HMAC-SHA256", "HMAC-SHA1", 400, "AuthorizationQueryParametersError"),
        ("X-Amz-Date=20", "X-Amz-Date=x20", 400, "AuthorizationQueryParametersError"),
        ("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=a", 403, "AccessDenied"),
    ],
)
def test_damaged_presigned_urls(wire, old, new, status, code):
    target = wire.presign("DELETE", TEA)
    assert old in target
    raw = wire.raw("DELETE", target.replace(old, new), {"Host": host(wire)})
    wire.refuses(raw, status, code)


def test_two_signatures_in_one_request(wire):
    target = wire.presign("DELETE", TEA)
    headers = wire.sign("DELETE", TEA).headers
    wire.refuses(wire.raw("DELETE", target, headers), 400, "InvalidArgument")


def old_style(wire, secret, date, method="DELETE", path=TEA):
    text = f"{method}\n\n\n{date}\n{path}".encode()
    digest = hmac.digest(secret.encode(), text, hashlib.sha1)
    word = f"AWS {wire.server.access_key_id}:{base64.b64encode(digest).decode()}"
    return wire.raw(method, path, {"Host": host(wire), "Date": date, "Authorization": word})


def test_signatures_of_version_2(wire):
    secret, now = wire.server.secret_access_key, time.time()
    wire.refuses(old_style(wire, "wrong", formatdate(now)), 403, "SignatureDoesNotMatch")
    for late in (-QUARTER - 5, QUARTER + 30):
        raw = old_style(wire, secret, formatdate(now + late))
        wire.refuses(raw, 403, "RequestTimeTooSkewed")
    raw = old_style(wire, secret, formatdate(now))
    other = raw.replace(b"/main/abc", b"/main/staged")
    wire.refuses(other, 403, "SignatureDoesNotMatch")
    raw = wire.raw("DELETE", TEA, {"Host": host(wire), "Authorization": "AWS nonsense"})
    assert wire.send(raw).status in {400, 403}


def host(wire):
    return wire.server.url.removeprefix("http://")
