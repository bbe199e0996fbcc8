"""Signatures of version 2, against botocore and AWS's published examples."""

from __future__ import annotations

import base64
import hmac

import msgspec
import pytest
from hypothesis import assume, given, settings
from support.clients.s3_requests import Draft, drafts
from support.session.hypothesis_profiles import examples

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.presigned_headers import with_presigned_headers
from anabranch.s3.signatures.timestamps import parse_date_header
from anabranch.s3.signatures.verifier import Verifier
from anabranch.signing.request import Request

KEY = "AKIAIOSFODNN7EXAMPLE"
SIGNED = {"acl", "partNumber", "response-content-type", "uploadId", "uploads", "versionId"}


def refused(verify, *arguments, **keywords) -> S3Error:
    with pytest.raises(S3Error) as caught:
        verify(*arguments, **keywords)
    return caught.value


def changed(sent, **parts):
    request = msgspec.structs.replace(sent.request, **parts)
    assert request != sent.request
    return sent._replace(request=request)


@settings(max_examples=examples(120), deadline=None)
@given(drafts())
def test_botocore_signature_is_accepted_and_damaged_one_rejected(botocore, gate, damaged, draft):
    # botocore signs the path as it stands in the URL, whose authority is not part of it
    sent = botocore.header_v2(draft)
    verified = gate.admit(sent)
    assert (verified.access_key_id, verified.payload, verified.seed) == (KEY, None, None)
    for what, request in damaged(sent.request):
        if what == "host":
            continue  # is not signed
        assert refused(gate.admit, sent._replace(request=request)).code == "SignatureDoesNotMatch"
    for name, value in draft.query:
        if name in SIGNED and value:
            other = changed(sent, query=sent.request.query.replace(f"{name}=", f"{name}=x", 1))
            assert refused(gate.admit, other).code == "SignatureDoesNotMatch"
    added = changed(sent, query=f"{sent.request.query}&delete")
    assert refused(gate.admit, added).code == "SignatureDoesNotMatch"
    headers = {**sent.request.headers, "x-amz-copy-source": "/repo/main/secret"}
    assert refused(gate.admit, changed(sent, headers=headers)).code == "SignatureDoesNotMatch"


@settings(max_examples=examples(120), deadline=None)
@given(drafts())
def test_urls(botocore, gate, draft):
    # what is added must be new: of a header that is in the URL twice, the first one counts
    assume(not {"x-amz-acl", "x-amz-meta-added"} & {name.lower() for name, _ in draft.headers})
    assume("torrent" not in {name for name, _ in draft.query})
    sent = botocore.presigned_v2(draft)
    assert gate.admit(sent, after=3599).access_key_id == KEY
    query = sent.request.query
    wrong = {
        "method": changed(sent, method="PUT" if draft.method != "PUT" else "GET"),
        "path": changed(sent, path=sent.request.path + "x"),
        "expires": changed(sent, query=query.replace("Expires=", "Expires=2", 1)),
        "header": changed(sent, headers={**sent.request.headers, "x-amz-acl": "x"}),
        "parameter": changed(sent, query=f"{query}&x-amz-meta-added=1"),
        "sub-resource": changed(sent, query=f"torrent&{query}"),
    }
    for what, damaged in wrong.items():
        assert refused(gate.admit, damaged).code == "SignatureDoesNotMatch", what


def test_a_header_that_is_added_to_a_url_again_changes_nothing(botocore, gate):
    draft = Draft(headers=(("x-amz-meta-added", "first"),))
    sent = botocore.presigned_v2(draft)
    again = changed(sent, query=f"{sent.request.query}&x-amz-meta-added=second")
    assert gate.admit(again).access_key_id == KEY
    headers = with_presigned_headers(again.request).headers
    assert headers["x-amz-meta-added"] == "first"
    before = changed(sent, query=f"x-amz-meta-added=second&{sent.request.query}")
    assert refused(gate.admit, before).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("after", [-900, 0, 900])
def test_clock_skew_of_15_minutes_is_accepted(botocore, gate, after):
    sent = botocore.header_v2(Draft())
    assert gate.admit(sent, after=after)


@pytest.mark.parametrize("after", [-901, 902])
def test_larger_clock_skew_is_rejected(botocore, gate, after):
    error = refused(gate.admit, botocore.header_v2(Draft()), after=after)
    assert (error.code, error.status) == ("RequestTimeTooSkewed", 403)


def test_a_url_holds_until_it_expires(botocore, gate):
    sent = botocore.presigned_v2(Draft(), 10 * 86_400)
    assert gate.admit(sent, after=10 * 86_400 - 1)
    error = refused(gate.admit, sent, after=10 * 86_400 + 1)
    assert (error.code, error.status, error.message) == ("AccessDenied", 403, "Request has expired")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("Signature=", "Signature=x", "SignatureDoesNotMatch"),
        ("Signature=", "Signature=&Signature=", "AccessDenied"),
        ("AWSAccessKeyId=", "AWSAccessKeyId=&x=", "AccessDenied"),
        (KEY, "AKIANOBODY", "InvalidAccessKeyId"),
        ("Expires=", "Expires=x", "AccessDenied"),
        ("Expires=", "Expires=-", "AccessDenied"),
        ("Expires=", "Expires=99999999999999", "AccessDenied"),
        ("Expires=", "Until=", "AccessDenied"),
    ],
)
def test_a_damaged_url(botocore, gate, old, new, code):
    sent = botocore.presigned_v2(Draft())
    assert old in sent.request.query
    error = refused(gate.admit, changed(sent, query=sent.request.query.replace(old, new, 1)))
    assert error.code == code


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        ("AWS ", "InvalidArgument"),
        ("AWS x", "InvalidArgument"),
        ("AWS :x", "InvalidArgument"),
        (f"AWS {KEY}:", "InvalidArgument"),
        (f"AWS {KEY}:x", "SignatureDoesNotMatch"),
        (f"AWS {KEY}:\xe9", "SignatureDoesNotMatch"),
        ("AWS AKIANOBODY:x", "InvalidAccessKeyId"),
    ],
)
def test_a_damaged_authorization(botocore, gate, authorization, code):
    sent = botocore.header_v2(Draft())
    headers = {**sent.request.headers, "authorization": authorization}
    assert refused(gate.admit, changed(sent, headers=headers)).code == code


def test_a_bucket_that_the_host_names(botocore, gate):
    sent = botocore.header_v2(Draft(url="http://repo.s3.local/main/a"), bucket="repo")
    assert gate.admit(sent)
    assert refused(gate.admit, changed(sent, bucket="other")).code == "SignatureDoesNotMatch"
    assert refused(gate.admit, changed(sent, bucket="")).code == "SignatureDoesNotMatch"


def test_an_empty_sub_resource_with_or_without_equals(botocore, gate):
    bare = botocore.header_v2(Draft(query=(("uploads", ""),)))
    assert bare.request.query == "uploads"
    assert gate.admit(changed(bare, query="uploads="))  # signed without, sent with
    signed_with = botocore.header_v2(Draft(url="http://lake.example/repo/k?uploads="))
    assert signed_with.request.query == "uploads="
    assert gate.admit(signed_with)


def test_a_date_of_amazon_s_own_takes_the_place_of_the_usual(gate):
    date = "Tue, 27 Mar 2007 21:20:26 +0000"
    text = f"DELETE\n\n\n\nx-amz-date:{date}\n/awsexamplebucket1/photos/puppy.jpg"
    key = gate.secrets[KEY].reveal().encode()
    signature = base64.b64encode(hmac.digest(key, text.encode(), "sha1")).decode()
    headers = {
        "Date": "Tue, 27 Mar 2007 21:20:27 +0000",
        "x-amz-date": date,
        "Authorization": f"AWS {KEY}:{signature}",
    }
    request = Request.from_wire(
        "DELETE", "/awsexamplebucket1/photos/puppy.jpg", "", headers.items()
    )
    now = parse_date_header(date)
    assert Verifier(gate.secrets.get, lambda: now).verify(request)


@pytest.mark.parametrize("query", [(), (("acl", ""),), (("prefix", "a"),)])
def test_a_bucket_alone_is_signed_with_a_slash_or_without(botocore, gate, query):
    """boto3 sends `/repo` and signs `/repo/`; others sign what they send."""
    slash = botocore.header_v2(Draft(url="http://h:1/", query=query), bucket="repo")
    plain = botocore.header_v2(Draft(url="http://h:1/repo", query=query))
    assert gate.admit(plain)
    assert gate.admit(changed(slash, path="/repo/", bucket=""))
    assert gate.admit(changed(slash, path="/repo", bucket=""))
    for wrong in (changed(plain, path="/repo/"), changed(slash, path="/repo//", bucket="")):
        assert refused(gate.admit, wrong).code == "SignatureDoesNotMatch"


# AWS, "Signing and authenticating REST requests": method, bucket, path, query, headers, signature
PUBLISHED = {
    "get": (
        ("GET", "awsexamplebucket1", "/photos/puppy.jpg", ""),
        {"Date": "Tue, 27 Mar 2007 19:36:42 +0000"},
        "qgk2+6Sv9/oM7G3qLEjTH1a1l1g=",
    ),
    "put": (
        ("PUT", "awsexamplebucket1", "/photos/puppy.jpg", ""),
        {
            "Content-Type": "image/jpeg",
            "Content-Length": "94328",
            "Date": "Tue, 27 Mar 2007 21:15:45 +0000",
        },
        "iqRzw+ileNPu1fhspnRs8nOjjIA=",
    ),
    "list": (
        ("GET", "awsexamplebucket1", "/", "prefix=photos&max-keys=50&marker=puppy"),
        {"User-Agent": "Mozilla/5.0", "Date": "Tue, 27 Mar 2007 19:42:41 +0000"},
        "m0WP8eCtspQl5Ahe6L1SozdX9YA=",
    ),
    "acl": (
        ("GET", "awsexamplebucket1", "/", "acl"),
        {"Date": "Tue, 27 Mar 2007 19:44:46 +0000"},
        "82ZHiFIjc+WbcwFKGUVEQspPn+0=",
    ),
    "all buckets": (
        ("GET", "", "/", ""),
        {"Date": "Wed, 28 Mar 2007 01:29:59 +0000"},
        "qGdzdERIC03wnaRNKh6OqZehG9s=",
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_examples(name):
    (method, bucket, path, query), headers, signature = PUBLISHED[name]
    now = parse_date_header(headers["Date"])
    request = Request.from_wire(
        method,
        path,
        query,
        [*headers.items(), ("Authorization", f"AWS {KEY}:{signature}")],
        bucket=bucket,
    )
    secret = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    assert Verifier(lambda _: secret, lambda: now).verify(request).access_key_id == KEY
