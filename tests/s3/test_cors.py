"""Which origins' web pages may use the gateway."""

from __future__ import annotations

import pytest

from anabranch.errors import Invalid
from anabranch.s3.protocol.cors import Cors
from anabranch.s3.protocol.errors import S3Error

APP = "https://app.example.com"
ASKED = {"origin": APP, "access-control-request-method": "PUT"}


def refusal(cors, headers):
    with pytest.raises(S3Error) as caught:
        cors.preflight(headers)
    return caught.value.code


@pytest.mark.parametrize(
    ("rule", "allowed", "refused"),
    [
        (APP, [APP, APP.upper()], [f"{APP}:8443", "http://app.example.com", "null", APP + ".evil"]),
        ("https://*.example.com", [APP, "https://a.b.example.com"], ["https://example.com"]),
        ("http://localhost:*", ["http://localhost:3000"], ["http://localhost", "http://x:3000"]),
        (
            "https://*",
            [APP],
            ["http://app.example.com", "https://a/b", "https://\xe9", "https://a\tb"],
        ),
        ("*", [APP, "null", "http://x:1"], []),
    ],
)
def test_an_origin_is_allowed_by_a_rule(rule, allowed, refused):
    cors = Cors([rule])
    for origin in allowed:
        answered = dict(cors.headers({"origin": origin}))
        assert answered["Access-Control-Allow-Origin"] == ("*" if rule == "*" else origin)
        assert answered["Access-Control-Expose-Headers"] == "ETag, *"
        assert answered["Vary"].startswith("Origin")
        assert "Access-Control-Allow-Credentials" not in answered
        assert cors.preflight(ASKED | {"origin": origin}).status == 200
    for origin in refused:
        assert [name for name, _ in cors.headers({"origin": origin})] == ["Vary"]
        assert refusal(cors, ASKED | {"origin": origin}) == "AccessForbidden"


def test_without_origins_nothing_is_said_and_nothing_is_allowed():
    cors = Cors()
    assert cors.headers({"origin": APP}) == ()
    assert not cors.is_preflight(ASKED)
    assert refusal(cors, ASKED) == "AccessForbidden"


def test_any_of_several_rules_allows():
    cors = Cors(["https://one.example.com", APP])
    assert dict(cors.headers({"origin": APP}))["Access-Control-Allow-Origin"] == APP


def test_preflight_response_has_the_requested_permissions():
    wanted = "authorization, x-amz-date,X-Amz-Content-Sha256"
    asked = ASKED | {"access-control-request-headers": wanted}
    answered = dict(Cors([APP]).preflight(asked).headers)
    assert answered["Access-Control-Allow-Headers"] == wanted
    assert answered["Access-Control-Allow-Methods"] == "GET, HEAD, PUT, POST, DELETE"
    assert answered["Access-Control-Max-Age"] == "3000"


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "POST", "DELETE"])
def test_every_method_of_s3_is_allowed(method):
    asked = ASKED | {"access-control-request-method": method}
    assert Cors([APP]).preflight(asked).status == 200


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"origin": ""}, "BadRequest"),
        ({"access-control-request-method": ""}, "BadRequest"),
        ({"access-control-request-method": "PATCH"}, "BadRequest"),
        ({"access-control-request-method": "put"}, "BadRequest"),
        ({"access-control-request-headers": "x-a, ,x-b"}, "AccessForbidden"),
        ({"access-control-request-headers": "x-a: b"}, "AccessForbidden"),
    ],
)
def test_malformed_preflight_request_is_rejected(changed, code):
    assert refusal(Cors([APP]), ASKED | changed) == code


@pytest.mark.parametrize(
    "wrong", ["", "example.com", "https://", f"{APP}/", f"{APP}/x", "https://*.*.com", "a b://c"]
)
def test_malformed_origin_raises_invalid(wrong):
    with pytest.raises(Invalid) as caught:
        Cors([wrong])
    assert caught.value.kind == "invalid_settings"
    assert "gateways.s3.cors" in caught.value.message
