"""Signatures of version 4 in URLs, against botocore and AWS's published example."""

from __future__ import annotations

from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import given, settings
from support.clients.s3_requests import Draft, drafts
from support.session.hypothesis_profiles import examples

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.verifier import Verifier
from anabranch.signing.canonical_v4 import canonical_request, string_to_sign
from anabranch.signing.chunk_signatures import ChunkSeed
from anabranch.signing.credential_scope import Scope
from anabranch.signing.request import Request
from anabranch.signing.signing_keys import derive
from anabranch.signing.timestamps import parse_compact

KEY = "AKIAIOSFODNN7EXAMPLE"
WEEK = 604_800


def refused(verify, *arguments, **keywords) -> S3Error:
    with pytest.raises(S3Error) as caught:
        verify(*arguments, **keywords)
    return caught.value


def with_query(sent, change):
    query = change(sent.request.query)
    assert query != sent.request.query
    return sent._replace(request=msgspec.structs.replace(sent.request, query=query))


def replaced(sent, old, new):
    return with_query(sent, lambda query: query.replace(old, new, 1))


@settings(max_examples=examples(60), deadline=None)
@given(drafts())
def test_botocore_signature_is_accepted_and_damaged_one_rejected(botocore, gate, damaged, draft):
    sent = botocore.presigned(draft)
    verified = gate.admit(sent)
    assert (verified.access_key_id, verified.payload) == (KEY, "UNSIGNED-PAYLOAD")
    for what, request in damaged(sent.request):
        error = refused(gate.admit, sent._replace(request=request))
        assert error.code in {"SignatureDoesNotMatch", "AccessDenied"}, what
    for part in sent.request.query.split("&"):
        name = part.partition("=")[0]
        without = replaced(sent, part, "y=z")
        error = refused(gate.admit, without)
        if name.startswith("X-Amz-") and name != "X-Amz-Security-Token":
            assert error.code == "AuthorizationQueryParametersError", name
        else:
            assert error.code == "SignatureDoesNotMatch", name
    assert refused(gate.admit, with_query(sent, "{}&x".format)).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("X-Amz-Algorithm=AWS4-HMAC-SHA256", "X-Amz-Algorithm=AWS4-HMAC-SHA1", "Parameters"),
        (KEY, "AKIANOBODY", "InvalidAccessKeyId"),
        (KEY, "AKIAI44QH8DHBEXAMPLE", "SignatureDoesNotMatch"),
        ("us-east-1", "us-east-2", "SignatureDoesNotMatch"),
        ("%2Fs3%2F", "%2Fec2%2F", "Parameters"),
        ("aws4_request", "aws4_requests", "Parameters"),
        ("%2Faws4_request", "", "Parameters"),
        (f"{KEY}%2F20", f"{KEY}%2F19", "Parameters"),
        ("X-Amz-Date=20", "X-Amz-Date=19", "Parameters"),
        ("X-Amz-Date=", "X-Amz-Date=x", "Parameters"),
        ("X-Amz-Expires=3600", "X-Amz-Expires=3601", "SignatureDoesNotMatch"),
        ("X-Amz-Expires=3600", "X-Amz-Expires=-1", "Parameters"),
        ("X-Amz-Expires=3600", "X-Amz-Expires=1e3", "Parameters"),
        ("X-Amz-Expires=3600", "X-Amz-Expires=604801", "Parameters"),
        ("X-Amz-Expires=3600", "X-Amz-Expires=9999999999999999999", "Parameters"),
        ("X-Amz-Expires=3600", "X-Amz-Expires=%D9%A1", "Parameters"),
        ("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=date", "AccessDenied"),
        ("X-Amz-Expires=3600", "X-Amz-Expires=3600&X-Amz-Expires=3600", "Parameters"),
        ("X-Amz-Signature=", "X-Amz-Signature=0", "SignatureDoesNotMatch"),
        ("X-Amz-Signature=", "X-Amz-Signature=&X-Amz-Signature=", "Parameters"),
        ("X-Amz-Signature=", "X-Amz-Other=", "Parameters"),
    ],
)
def test_a_damaged_parameter(botocore, gate, old, new, code):
    expected = "AuthorizationQueryParametersError" if code == "Parameters" else code
    error = refused(gate.admit, replaced(botocore.presigned(Draft()), old, new))
    assert error.code == expected
    assert error.status == (400 if code == "Parameters" else 403)


@pytest.mark.parametrize("expires", [1, 900, 3600, WEEK])
def test_url_is_valid_until_it_expires(botocore, gate, expires):
    sent = botocore.presigned(Draft(), expires)
    for after in (-900, 0, expires):
        assert gate.admit(sent, after=after)
    late = refused(gate.admit, sent, after=expires + 1)
    assert (late.code, late.status, late.message) == ("AccessDenied", 403, "Request has expired")
    assert late.details["X-Amz-Expires"] == str(expires)
    early = refused(gate.admit, sent, after=-901)
    assert (early.code, early.message) == ("AccessDenied", "Request is not yet valid")


def test_no_longer_than_a_week(botocore, gate):
    error = refused(gate.admit, botocore.presigned(Draft(), WEEK + 1))
    assert error.code == "AuthorizationQueryParametersError"
    assert "604800" in error.message


def test_headers_may_be_added_but_not_amazon_s(botocore, gate):
    sent = botocore.presigned(Draft(method="PUT"))

    def adding(**headers):
        added = {name.replace("_", "-"): value for name, value in headers.items()}
        request = msgspec.structs.replace(sent.request, headers={**sent.request.headers, **added})
        return sent._replace(request=request)

    assert gate.admit(adding(content_type="text/plain", range="bytes=0-1"))
    for name in ("x_amz_meta_a", "x_amz_copy_source", "x_amz_content_sha256", "x_amz_date"):
        error = refused(gate.admit, adding(**{name: "added"}))
        assert error.code == "AccessDenied", name
        assert error.details["HeadersNotSigned"] == name.replace("_", "-")
    assert gate.admit(adding(x_amz_content_sha256="UNSIGNED-PAYLOAD")).payload == "UNSIGNED-PAYLOAD"


@pytest.mark.parametrize("where", ["header", "query"])
def test_the_digest_of_the_body_may_be_signed(where):
    digest = "0" * 64
    date = "20240101T000000Z"
    scope = Scope(date[:8], "us-east-1")
    secret = Secret("secret")
    headers = {"host": "h"} | ({"x-amz-content-sha256": digest} if where == "header" else {})
    names = ";".join(headers)
    parameters = {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{KEY}/{scope.text}",
        "X-Amz-Date": date,
        "X-Amz-Expires": "60",
        "X-Amz-SignedHeaders": names,
    } | ({"X-Amz-Content-Sha256": digest} if where == "query" else {})
    query = urlencode(parameters)
    unsigned = Request.from_wire("PUT", "/k", query, headers.items())
    text = string_to_sign(date, scope, canonical_request(unsigned, names, digest))
    signature = ChunkSeed(derive(secret, scope), date, scope.text, "").sign(text)
    verifier = Verifier(lambda _: secret, lambda: parse_compact(date) + 30)
    signed = msgspec.structs.replace(unsigned, query=f"{query}&X-Amz-Signature={signature}")
    assert verifier.verify(signed).payload == digest
    other = msgspec.structs.replace(signed, query=signed.query.replace(digest, "1" * 64))
    if where == "header":
        other = msgspec.structs.replace(signed, headers={**headers, "x-amz-content-sha256": "1"})
    assert refused(verifier.verify, other).code == "SignatureDoesNotMatch"


def test_the_published_example(gate):
    # from AWS's "Authenticating requests: using query parameters"
    query = (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256"
        f"&X-Amz-Credential={KEY}%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )
    request = Request.from_wire(
        "GET", "/test.txt", query, [("Host", "examplebucket.s3.amazonaws.com")]
    )
    now = parse_compact("20130524T235959Z")
    assert Verifier(gate.secrets.get, lambda: now).verify(request).access_key_id == KEY
