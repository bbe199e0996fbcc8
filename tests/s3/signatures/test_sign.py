"""Our signer against botocore's, and against our own verifier."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from support.clients.s3_requests import Draft, drafts
from support.session.hypothesis_profiles import examples

from anabranch.model.secret import Secret
from anabranch.signing.request import Request
from anabranch.signing.sign import SigningCredentials, presign, sign_request
from anabranch.signing.timestamps import parse_compact

KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def signer(draft):
    return SigningCredentials(KEY, Secret(SECRET), draft.region, draft.token)


@settings(max_examples=examples(100), deadline=None)
@given(drafts())
def test_headers_are_those_of_botocore(gate, draft):
    request = AWSRequest(draft.method, draft.full_url, dict(draft.headers))
    S3SigV4Auth(Credentials(KEY, SECRET, draft.token), "s3", draft.region).add_auth(request)
    now = parse_compact(request.context["timestamp"])
    signed = sign_request(
        signer(draft), draft.method, draft.full_url, dict(draft.headers), time=now, payload=EMPTY
    )
    assert signed.headers["Authorization"] == request.headers["Authorization"]
    assert signed.seed.signature in signed.headers["Authorization"]
    gate.now = now
    url = urlsplit(draft.full_url)
    received = Request.from_wire(draft.method, url.path, url.query, signed.headers.items())
    assert gate.verifier.verify(received).access_key_id == KEY


@settings(max_examples=examples(100), deadline=None)
@given(drafts())
def test_urls_are_those_of_botocore(gate, draft):
    if "content-type" in dict(draft.headers):
        return
    request = AWSRequest(draft.method, draft.full_url, dict(draft.headers))
    auth = S3SigV4QueryAuth(Credentials(KEY, SECRET, draft.token), "s3", draft.region, 600)
    auth.add_auth(request)
    now = parse_compact(request.context["timestamp"])
    url = presign(
        signer(draft),
        draft.method,
        draft.full_url,
        time=now,
        expires=600,
        headers=dict(draft.headers),
    )
    ours, theirs = urlsplit(url), urlsplit(request.url)
    assert (ours.netloc, ours.path) == (theirs.netloc, theirs.path)
    values = [parse_qs(parts.query, keep_blank_values=True) for parts in (ours, theirs)]
    assert values[0] == values[1]
    gate.now = now
    headers = [("host", ours.netloc), *draft.headers]
    received = Request.from_wire(draft.method, ours.path, ours.query, headers)
    assert gate.verifier.verify(received).access_key_id == KEY


def test_printed_values_do_not_reveal_the_key():
    signed = sign_request(signer(Draft()), "GET", "http://h/k", {}, time=0)
    shown = repr(signed) + repr(signer(Draft()))
    assert SECRET not in shown
    assert signed.seed._key.hex() not in shown
    assert repr(signed.seed._key) not in shown


@pytest.mark.parametrize("url", ["http://h", "http://h/", "http://h/k?a=1"])
def test_short_urls(gate, url):
    presigned = urlsplit(presign(signer(Draft()), "GET", url, time=1000, expires=1))
    gate.now = 1000
    headers = [("host", "h")]
    assert gate.verifier.verify(Request.from_wire("GET", presigned.path, presigned.query, headers))
