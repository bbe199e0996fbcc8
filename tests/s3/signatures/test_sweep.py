"""Thousands of requests that botocore signs, each admitted, and each refused with one character
changed, in whatever is signed: method, path, query, headers, the proof itself.
"""

from __future__ import annotations

import random
import string
from urllib.parse import quote, unquote_to_bytes

import msgspec
import pytest
from support.clients.odd_keys import ODD_KEYS
from support.clients.s3_requests import Draft
from support.session.sizes import sized

from anabranch.s3.protocol.errors import S3Error

EACH = sized(250, weekly=1000)
DAMAGES = 4
QUERIES = (
    (),
    (("acl", ""),),
    (("uploads", ""),),
    (("partNumber", "7"), ("uploadId", "a+b/c=")),
    (("list-type", "2"), ("prefix", "main/a b+c%2F"), ("delimiter", "/")),
    (("response-content-type", "text/x; a=b"), ("versionId", "null")),
    (("tagging", ""), ("x-id", "GetObjectTagging")),
)
HEADERS = (
    ("content-type", "text/csv; charset=utf-8"),
    ("content-md5", "CY9rzUYh03PK3k6DJie09g=="),
    ("x-amz-acl", "private"),
    ("x-amz-meta-depth", "10935  metres"),
    ("x-amz-meta-sea", "=?utf-8?q?caf=C3=A9?="),
    ("x-amz-copy-source", "/repo/main/a%20b%2Bc"),
)
# what version 2 signs of a query
OF_RESOURCES = {"acl", "uploads", "partNumber", "uploadId", "response-content-type", "versionId"}
OF_RESOURCES |= {"tagging"}
OF_PROOF_V2 = {"AWSAccessKeyId", "Expires", "Signature"}


def draft(chance) -> Draft:
    key = quote(f"main/{chance.choice(ODD_KEYS)}", safe="/~")
    return Draft(
        method=chance.choice(("GET", "PUT", "POST", "DELETE", "HEAD")),
        url=f"http://lake.example:8000/repo-{chance.randrange(100)}/{key}",
        query=chance.choice(QUERIES),
        headers=tuple(sorted(chance.sample(HEADERS, chance.randrange(4)))),
        body=chance.randbytes(chance.randrange(20)),
        region=chance.choice(("us-east-1", "eu-central-2")),
        token=chance.choice((None, None, "FwoGZXIvYXdzEXAMPLE/+==")),
    )


def altered(text, chance):
    """Returns a text with one character changed into another, taken away or added."""
    at = chance.randrange(len(text))
    other = chance.choice(string.ascii_letters + string.digits + "/%-")
    return chance.choice(
        (
            text[:at] + other + text[at + 1 :],
            text[:at] + text[at + 1 :],
            text[:at] + other + text[at:],
        )
    )


def pairs(query):
    parts = [part.partition("=") for part in query.split("&") if part]
    return sorted(
        tuple(unquote_to_bytes(text.replace("+", " ")) for text in (name, value))
        for name, _, value in parts
    )


def signed_v2(query):
    """Returns what version 2 looks at in a query; what stands for a header in any case. A space in
    the signature stands for a plus sign that was not encoded.
    """
    names = {name.encode() for name in OF_RESOURCES | OF_PROOF_V2}
    found = []
    for name, written in pairs(query):
        value = written.replace(b" ", b"+") if name == b"Signature" else written
        header = name.lower().startswith((b"x-amz-", b"content-"))
        if header or name in names:
            found.append((name.lower() if header else name, value))
    return sorted(found)


class Form:
    """A way of signing: how, and what of a request it covers."""

    def __init__(self, sign, headers, query):
        self.sign = sign
        self.headers = headers
        self.query = query

    def damaged(self, request, chance):
        """Returns the request with one thing changed that means something, and what it was."""
        change = msgspec.structs.replace
        while True:
            what = chance.choice(("method", "path", "query", *self.headers(request)))
            if what == "method":
                others = {"GET", "PUT", "POST", "DELETE", "HEAD"} - {request.method}
                return what, change(request, method=chance.choice(sorted(others)))
            if what == "path":
                path = altered(request.path, chance)
                if unquote_to_bytes(path) != unquote_to_bytes(request.path):
                    return what, change(request, path=path)
            elif what == "query":
                query = altered(request.query or "x", chance)
                if self.query(query) != self.query(request.query):
                    return what, change(request, query=query)
            else:
                text = altered(request.headers[what] or "x", chance)
                if meaning(what, text) != meaning(what, request.headers[what]):
                    return what, change(request, headers={**request.headers, what: text})


def meaning(header, text):
    """Returns a header without the spaces that mean nothing in it."""
    return ("" if header == "authorization" else " ").join(text.split())


def signed_v4(request):
    proof = request.headers["authorization"]
    return [*proof.split("SignedHeaders=")[1].split(",")[0].split(";"), "authorization"]


def named_v2(request):
    names = {"content-type", "content-md5", "date", "authorization"}
    return [name for name in request.headers if name in names or name.startswith("x-amz-")]


FORMS = {
    "headers v4": lambda botocore: Form(botocore.header, signed_v4, pairs),
    "URL v4": lambda botocore: Form(botocore.presigned, lambda _: ["host"], pairs),
    "headers v2": lambda botocore: Form(botocore.header_v2, named_v2, signed_v2),
    "URL v2": lambda botocore: Form(botocore.presigned_v2, lambda _: [], signed_v2),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_request_is_accepted_and_rejected_with_one_character_changed(botocore, gate, name):
    chance = random.Random(name)
    form = FORMS[name](botocore)
    changed = set()
    for _ in range(EACH):
        sent = form.sign(draft(chance))
        assert gate.admit(sent).access_key_id in sent.request.query + str(sent.request.headers)
        for _ in range(DAMAGES):
            what, request = form.damaged(sent.request, chance)
            changed.add(what)
            assert refused(gate, sent._replace(request=request)), (what, request, sent.request)
    assert {"method", "path", "query"} <= changed


def refused(gate, sent):
    """Returns whether a request is refused by the verifier, or has no signature, so that the
    gateway refuses it.
    """
    try:
        return gate.admit(sent) is None
    except S3Error as error:
        return error.status in {400, 403}
