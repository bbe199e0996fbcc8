"""Canonical paths and queries, compared with botocore and plain models."""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clients.s3_requests import odd_keys

from anabranch.signing.canonical_v4 import canonical_request
from anabranch.signing.encoding import decode_text, encode_key
from anabranch.signing.request import Request

# anything that can stand in a request line, with many percent signs
RAW = st.text(st.sampled_from("aZ09-._~/%%2f2F7e7E41zZ+*==&&;é\xff!'() "), max_size=30)


def canonical(path="/", query=""):
    """Returns the canonical path and query of a request."""
    request = Request.from_wire("GET", path, query, [("host", "h")])
    return canonical_request(request, "host", "p").split("\n")[1:3]


def canonical_path(path):
    return canonical(path=path)[0]


def canonical_query(query):
    return canonical(query=query)[1]


@pytest.mark.parametrize(
    ("sent", "canonical"),
    [
        ("", "/"),
        ("/", "/"),
        ("/a//b/./../c/", "/a//b/./../c/"),
        ("/a%2Fb", "/a/b"),
        ("/a+b", "/a%2Bb"),
        ("/a%20b", "/a%20b"),
        ("/a%7eb%2d", "/a~b-"),
        ("/%2e%2E%2d%2D%5F%30%41%7a%2f%2F", "/..--_0Az//"),
        ("/caf\xc3\xa9", "/caf%C3%A9"),
        ("/100%", "/100%25"),
        ("/%zz", "/%25zz"),
        ("/a=b:c@d", "/a%3Db%3Ac%40d"),
    ],
)
def test_paths(sent, canonical):
    assert canonical_path(sent) == canonical


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("", ""),
        ("acl", "acl="),
        ("acl=", "acl="),
        ("b=2&a=1", "a=1&b=2"),
        ("a=2&a=1&a", "a=&a=1&a=2"),
        ("a-b=1&a=2", "a=2&a-b=1"),
        ("prefix=a/b", "prefix=a%2Fb"),
        ("prefix=a+b", "prefix=a%20b"),
        ("prefix=a%2Bb", "prefix=a%2Bb"),
        ("x=a=b", "x=a%3Db"),
        ("&&a=1&", "a=1"),
        ("A=1&a=1&%C3%A9=1", "%C3%A9=1&A=1&a=1"),
        ("%2e%2E=%2d%2D%5F%7E%30%41%7a", "..=--_~0Az"),
        ("a=%2f%2F%26%3D", "a=%2F%2F%26%3D"),
        ("a=%e2%82%ac", "a=%E2%82%AC"),
    ],
)
def test_queries(query, canonical):
    assert canonical_query(query) == canonical


def test_headers():
    pairs = [
        (b"Host", b" h "),
        (b"X-Amz-Meta-A", b"  a   b\tc "),
        (b"x-amz-meta-a", b"second"),
        (b"X-Amz-Meta-U", "caf\xe9 漢".encode()),
        (b"X-Amz-Meta-N", b"\xa0 \xa0"),
    ]
    request = Request.from_wire("GET", b"/", b"", pairs)
    signed = "host;x-amz-meta-a;x-amz-meta-n;x-amz-meta-u;missing"
    lines = canonical_request(request, signed, "p").encode("latin-1").split(b"\n")
    assert lines[3:8] == [
        b"host:h",
        b"x-amz-meta-a:a b c,second",
        b"x-amz-meta-n:\xa0 \xa0",
        "x-amz-meta-u:caf\xe9 漢".encode(),
        b"missing:",
    ]
    as_sent = canonical_request(request, signed, "p", as_sent=True).split("\n")
    assert as_sent[4] == "x-amz-meta-a:a   b\tc,second"


@given(odd_keys())
def test_keys_are_encoded_as_botocore_has_them(key):
    assert encode_key(key) == quote(key, safe="/~")
    assert canonical_path("/" + encode_key(key)) == "/" + encode_key(key)


@given(RAW)
def test_the_canonical_form_is_final_and_means_the_same(raw):
    path = canonical_path("/" + raw)
    assert canonical_path(path) == path
    assert unquote_to_bytes(path) == unquote_to_bytes(("/" + raw).encode("latin-1"))


@given(RAW)
def test_queries_are_what_a_plain_model_makes_of_them(raw):
    decoded = [
        [unquote_to_bytes(text.replace("+", " ").encode("latin-1")) for text in (name, value)]
        for name, _, value in (part.partition("=") for part in raw.split("&") if part)
    ]
    pairs = sorted(tuple(quote(text, safe="") for text in pair) for pair in decoded)
    expected = "&".join("=".join(pair) for pair in pairs)
    assert canonical_query(raw) == expected
    assert canonical_query(expected) == expected
    texts = [text.encode("latin-1") for part in raw.split("&") for text in [decode_text(part)]]
    assert b"&".join(texts) == unquote_to_bytes(raw.replace("+", " ").encode("latin-1"))


@given(st.text(max_size=20), st.binary(max_size=20))
def test_request_text_keeps_every_byte(text, raw):
    request = Request.from_wire("GET", raw, text, [(raw, text)])
    assert request.path.encode("latin-1") == raw
    assert request.query.encode("latin-1") in {
        text.encode("latin-1", "replace"),
        text.encode("utf-8", "surrogatepass"),
    }
    canonical_request(request, "host", "p").encode("latin-1")


def test_text_that_is_not_latin_1_counts_as_utf_8():
    request = Request.from_wire("GET", "/漢", "a=漢", [])
    assert request.path.encode("latin-1") == "/漢".encode()
    assert canonical_path(request.path) == "/%E6%BC%A2"
