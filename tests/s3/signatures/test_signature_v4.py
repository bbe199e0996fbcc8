"""Signatures of version 4 in the header, against botocore and AWS's published examples."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clients.s3_requests import Draft, drafts
from support.session.hypothesis_profiles import examples

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.verifier import Verifier
from anabranch.signing.request import Request
from anabranch.signing.timestamps import parse_compact

KEY = "AKIAIOSFODNN7EXAMPLE"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
WELCOME = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
CODES = {"SignatureDoesNotMatch", "AccessDenied"}


def refused(verify, *arguments, **keywords) -> S3Error:
    with pytest.raises(S3Error) as caught:
        verify(*arguments, **keywords)
    return caught.value


def with_headers(sent, **headers):
    changed = {name.replace("_", "-"): value for name, value in headers.items()}
    merged = {**sent.request.headers, **changed}
    kept = {name: value for name, value in merged.items() if value is not None}
    return sent._replace(request=msgspec.structs.replace(sent.request, headers=kept))


def with_authorization(sent, old, new):
    authorization = sent.request.headers["authorization"]
    assert old in authorization
    return with_headers(sent, authorization=authorization.replace(old, new, 1))


@settings(max_examples=examples(100), deadline=None)
@given(drafts(), st.sampled_from([True, False]), st.randoms(use_true_random=False))
def test_botocore_signature_is_accepted_and_damaged_one_rejected(
    botocore, gate, damaged, draft, signed_payload, random
):
    sent = botocore.header(draft, payload_signing_enabled=signed_payload)
    verified = gate.admit(sent)
    assert verified.access_key_id == KEY
    assert verified.payload == sent.request.headers["x-amz-content-sha256"]
    for what, request in damaged(sent.request):
        error = refused(gate.admit, sent._replace(request=request))
        assert error.code in CODES, what
    for name in sorted(signed_names(sent)):
        text = sent.request.headers[name]
        if name.startswith("x-amz-meta") or name in {"range", "if-match"}:
            assert refused(gate.admit, with_headers(sent, **{name: text + "x"})).status == 403
    query = sent.request.query
    for changed in damaged_queries(query, random):
        request = msgspec.structs.replace(sent.request, query=changed)
        assert refused(gate.admit, sent._replace(request=request)).code == "SignatureDoesNotMatch"


def signed_names(sent):
    authorization = sent.request.headers["authorization"]
    return authorization.split("SignedHeaders=")[1].split(",")[0].split(";")


def damaged_queries(query, random):
    yield f"{query}&x=" if query else "x="
    if query:
        parts = query.split("&")
        at = random.randrange(len(parts))
        yield "&".join([*parts, parts[at]])
        yield "&".join(parts[:at] + parts[at + 1 :])
        yield "&".join([*parts[:at], parts[at] + "x", *parts[at + 1 :]])


@settings(max_examples=examples(60), deadline=None)
@given(drafts(), st.randoms(use_true_random=False))
def test_the_order_of_a_query_and_of_headers_is_not_signed(botocore, gate, draft, random):
    sent = botocore.header(draft)
    parts = sent.request.query.split("&")
    random.shuffle(parts)
    headers = list(sent.request.headers.items())
    random.shuffle(headers)
    request = msgspec.structs.replace(sent.request, query="&".join(parts), headers=dict(headers))
    assert gate.admit(sent._replace(request=request)).access_key_id == KEY


@settings(max_examples=examples(60), deadline=None)
@given(drafts(), st.integers(0, 63), st.sampled_from("0123456789abcdefABCDEF_é"))
def test_a_digit_of_the_signature(botocore, gate, draft, at, digit):
    sent = botocore.header(draft)
    authorization = sent.request.headers["authorization"]
    begin = len(authorization) - 64 + at
    if authorization[begin] == digit:
        return
    changed = authorization[:begin] + digit + authorization[begin + 1 :]
    error = refused(gate.admit, with_headers(sent, authorization=changed))
    assert error.code == "SignatureDoesNotMatch"
    assert error.details["SignatureProvided"] == changed[-64:]


@pytest.mark.parametrize("after", [-900, -1, 0, 900])
def test_clock_skew_of_15_minutes_is_accepted(botocore, gate, after):
    assert gate.admit(botocore.header(Draft()), after=after)


@pytest.mark.parametrize("after", [-1e9, -901, 900.5, 1e9])
def test_larger_clock_skew_is_rejected(botocore, gate, after):
    error = refused(gate.admit, botocore.header(Draft()), after=after)
    assert (error.code, error.status) == ("RequestTimeTooSkewed", 403)


def test_a_later_date_does_not_make_an_old_signature_new(botocore, gate):
    sent = botocore.header(Draft())
    date = sent.request.headers["x-amz-date"]
    moved = date[:-2] + ("1" if date[-2] == "0" else "0") + "Z"
    error = refused(gate.admit, with_headers(sent, x_amz_date=moved))
    assert error.code == "SignatureDoesNotMatch"


def test_the_date_header_serves_where_there_is_no_other(botocore, gate):
    sent = botocore.header(Draft(headers=(("Date", "now"),)))
    assert "x-amz-date" not in sent.request.headers
    assert gate.admit(sent)


@pytest.mark.parametrize("date", [None, "", "yesterday", "20241301T000000Z", "2024-01-01"])
def test_without_a_date(botocore, gate, date):
    error = refused(gate.admit, with_headers(botocore.header(Draft()), x_amz_date=date))
    assert (error.code, error.status) == ("AccessDenied", 403)
    assert "valid Date" in error.message


def test_an_unknown_key(botocore, gate):
    sent = with_authorization(botocore.header(Draft()), KEY, "AKIANOBODY")
    error = refused(gate.admit, sent)
    assert (error.code, error.status) == ("InvalidAccessKeyId", 403)


def test_the_key_of_someone_else(botocore, gate):
    sent = with_authorization(botocore.header(Draft()), KEY, "AKIAI44QH8DHBEXAMPLE")
    assert refused(gate.admit, sent).code == "SignatureDoesNotMatch"


def test_a_secret_that_was_replaced_finds_no_old_key(botocore, gate):
    sent = botocore.header(Draft())
    secrets = {KEY: gate.secrets[KEY]}
    verifier = Verifier(secrets.get, lambda: sent.time)
    assert verifier.verify(sent.request)
    secrets[KEY] = Secret("replaced")
    assert refused(verifier.verify, sent.request).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("us-east-1", "us-east-2", "SignatureDoesNotMatch"),
        ("/s3/", "/sts/", "AuthorizationHeaderMalformed"),
        ("aws4_request", "aws5_request", "AuthorizationHeaderMalformed"),
        ("/s3/aws4_request", "", "AuthorizationHeaderMalformed"),
        (f"{KEY}/", f"{KEY}/2", "AuthorizationHeaderMalformed"),
        (f"{KEY}/2", f"{KEY}/1", "AuthorizationHeaderMalformed"),
        (f"{KEY}/", "/", "AuthorizationHeaderMalformed"),
        ("Credential=", "Credentials=", "AuthorizationHeaderMalformed"),
        ("Signature=", "Sign=", "AuthorizationHeaderMalformed"),
        (", Signature=", ", Credential=", "AuthorizationHeaderMalformed"),
        (", ", "; ", "AuthorizationHeaderMalformed"),
        ("SignedHeaders=host;", "SignedHeaders=", "AccessDenied"),
        (";x-amz-security-token", "", "AccessDenied"),
        (";x-amz-date", "", "SignatureDoesNotMatch"),
        ("AWS4-HMAC-SHA256 ", "AWS4-ECDSA-P256-SHA256 ", "InvalidRequest"),
    ],
)
def test_a_damaged_authorization(botocore, gate, old, new, code):
    sent = with_authorization(botocore.header(Draft(token="of a session")), old, new)
    assert refused(gate.admit, sent).code == code


def test_components_in_another_order_without_spaces(botocore, gate):
    sent = botocore.header(Draft())
    scheme, _, rest = sent.request.headers["authorization"].partition(" ")
    turned = ",".join(reversed(rest.split(", ")))
    assert gate.admit(with_headers(sent, authorization=f"{scheme} {turned}"))


def test_a_header_that_was_added(botocore, gate):
    sent = botocore.header(Draft(method="PUT"))
    error = refused(gate.admit, with_headers(sent, x_amz_copy_source="/repo/main/secret"))
    assert (error.code, error.status) == ("AccessDenied", 403)
    assert error.details["HeadersNotSigned"] == "x-amz-copy-source"
    assert gate.admit(with_headers(sent, x_amz_cf_id="added by a proxy", user_agent="x"))


def test_the_host_must_be_signed_even_where_it_is_not_sent(botocore, gate):
    sent = with_authorization(botocore.header(Draft()), "=host;", "=")
    for changed in (sent, with_headers(sent, host=None)):
        error = refused(gate.admit, changed)
        assert error.code == "AccessDenied"
        assert error.details["HeadersNotSigned"] == "host"


def test_the_digest_of_the_body_must_be_said(botocore, gate):
    sent = botocore.header(Draft())
    error = refused(gate.admit, with_headers(sent, x_amz_content_sha256=None))
    assert (error.code, error.status) == ("InvalidRequest", 400)
    changed = with_headers(sent, x_amz_content_sha256="UNSIGNED-PAYLOAD")
    assert refused(gate.admit, changed).code == "SignatureDoesNotMatch"


def test_two_signatures(botocore, gate):
    presigned = botocore.presigned(Draft())
    authorization = botocore.header(Draft()).request.headers["authorization"]
    error = refused(gate.admit, with_headers(presigned, authorization=authorization))
    assert (error.code, error.status) == ("InvalidArgument", 400)


@pytest.mark.parametrize("authorization", [None, "", "Basic YTpi", "Bearer abc"])
def test_no_signature_is_no_error(gate, authorization):
    headers = [("host", "lake.example")]
    if authorization is not None:
        headers.append(("authorization", authorization))
    for query in ("", "prefix=A%20S&list-type=2"):
        assert gate.verifier.verify(Request.from_wire("GET", "/", query, headers)) is None


@settings(max_examples=examples(300), deadline=None)
@given(
    st.text(st.characters(max_codepoint=255), max_size=200),
    st.text(max_size=200),
    st.sampled_from(["AWS4-HMAC-SHA256 ", "AWS ", "AWS", ""]),
)
def test_arbitrary_authorization_is_rejected_without_a_crash(gate, text, query, scheme):
    for authorization in (
        scheme + text,
        f"{scheme}Credential={text}, SignedHeaders=a;host, Signature=b",
    ):
        headers = [("host", "h"), ("authorization", authorization), ("x-amz-date", text)]
        request = Request.from_wire("GET", text, query, headers)
        with contextlib.suppress(S3Error):
            assert gate.verifier.verify(request) is None


# AWS, "Signature calculations for the authorization header: transferring payload in a single
# chunk", all at 20130524T000000Z in us-east-1
PUBLISHED = {
    "get object": (
        ("GET", "/test.txt", "", {"range": "bytes=0-9", "x-amz-content-sha256": EMPTY}),
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ),
    "put object": (
        (
            "PUT",
            "/test$file.text",
            "",
            {
                "date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-content-sha256": WELCOME,
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
            },
        ),
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    ),
    "a part of a bucket": (
        ("GET", "/", "lifecycle", {"x-amz-content-sha256": EMPTY}),
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    ),
    "list": (
        ("GET", "/", "max-keys=2&prefix=J", {"x-amz-content-sha256": EMPTY}),
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_examples(gate, name):
    (method, path, query, extra), signature = PUBLISHED[name]
    headers = {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z", **extra}
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={KEY}/20130524/us-east-1/s3/aws4_request,"
        f"SignedHeaders={';'.join(sorted(headers))},Signature={signature}"
    )
    now = parse_compact("20130524T000000Z")
    verifier = Verifier(gate.secrets.get, lambda: now)
    request = Request.from_wire(method, path, query, headers.items())
    assert verifier.verify(request).access_key_id == KEY
