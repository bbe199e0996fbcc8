"""Who is taken for the caller of a request before it is authenticated, and afterwards."""

from __future__ import annotations

import base64

import pytest

from anabranch.http.request_head import RequestHead
from anabranch.server.execution.callers import Callers, named_credentials

SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIA1/20261129/us-east-1/s3/aws4_request,"
    " SignedHeaders=host, Signature=abc"
)


def head(query="", client="10.0.0.1", **headers):
    return RequestHead.sent("GET", "/", query, headers, scheme="http", client=client)


def basic(pair):
    return "Basic " + base64.b64encode(pair.encode()).decode()


@pytest.mark.parametrize(
    ("request_head", "named"),
    [
        (head(authorization=SIGNED), "key AKIA1"),
        (head(authorization="AWS AKIA1:c2lnbmF0dXJl"), "key AKIA1"),
        (head("X-Amz-Expires=60&X-Amz-Credential=AKIA1%2F20261129%2Fx"), "key AKIA1"),
        (head("x-amz-credential=AKIA1/20261129/x"), "key AKIA1"),
        (head("X-Amz-Credential=AK%49A1%2F20261129%2Fx"), "key AKIA1"),
        (head("AWSAccessKeyId=AKIA1&Signature=a"), "key AKIA1"),
        (head(authorization=basic("AKIA1:secret")), "key AKIA1"),
        (head(authorization=basic("AKIA1:another secret")), "key AKIA1"),
        (head(authorization="Basic abc"), "address 10.0.0.1"),
        (head(), "address 10.0.0.1"),
        (head(client=""), "address "),
    ],
)
def test_credentials_are_named_without_secrets(request_head, named):
    assert named_credentials(request_head) == named


def test_tokens_and_cookies_differ_and_are_not_kept():
    names = {
        named_credentials(head(authorization="Bearer aaaa.bbbb.cccc")),
        named_credentials(head(authorization="Bearer aaaa.bbbb.dddd")),
        named_credentials(head(cookie="internal_auth_session=1")),
        named_credentials(head(cookie="internal_auth_session=2")),
    }
    assert len(names) == 4
    assert not any("cccc" in name or "session" in name for name in names)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer  abc "},
        {"authorization": "bearer abc", "cookie": "a=1; internal_auth_session=other"},
        {"cookie": "junk=1; internal_auth_session=abc; more=2"},
        {"cookie": 'internal_auth_session="abc"'},
        {"cookie": "internal_auth_session=abc", "authorization": "Junk 1"},
        {"cookie": "internal_auth_session=abc", "authorization": "Junk Credential=AKIA1/x"},
        {"cookie": "internal_auth_session=abc", "authorization": "Junk AWS AKIA1:x"},
    ],
)
def test_a_token_has_one_name_however_it_is_sent(headers):
    expected = named_credentials(head(authorization="Bearer abc"))
    assert named_credentials(head(**headers)) == expected


def test_names_that_were_never_authenticated_are_one_caller_of_their_address():
    callers = Callers()
    made_up = [head(authorization=f"Bearer {number}") for number in range(9)]
    made_up += [head(authorization=basic(f"K{number}:x")) for number in range(9)]
    made_up += [head(), head(authorization=SIGNED), head(cookie="internal_auth_session=1")]
    assert {callers.of(each) for each in made_up} == {"address 10.0.0.1"}
    assert callers.of(head(client="10.0.0.2")) == "address 10.0.0.2"


def test_all_key_pairs_and_tokens_of_a_user_are_one_caller_once_known():
    callers = Callers()
    pair, token = head(authorization=SIGNED), head(authorization="Bearer abc")
    callers.learn(pair, "ada")
    assert callers.of(pair) != callers.of(token)
    callers.learn(token, "ada")
    assert callers.of(pair) == callers.of(token) == "user ada"
    callers.learn(token, "lin")
    assert callers.of(token) == "user lin"


def test_a_name_of_a_key_is_not_a_user():
    callers = Callers()
    callers.learn(head(authorization=SIGNED), "ada")
    forged = head(authorization=basic("user ada:x"))
    assert callers.of(forged) != "user ada"


def test_of_many_callers_the_latest_are_known():
    callers = Callers()
    for number in range(10_001):
        callers.learn(head(authorization=basic(f"K{number}:x")), f"u{number}")
    assert callers.of(head(authorization=basic("K0:x"))) == "address 10.0.0.1"
    assert callers.of(head(authorization=basic("K10000:x"))) == "user u10000"
