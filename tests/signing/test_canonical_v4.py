"""Canonical forms and signatures, compared with a plain model and Python's HMAC."""

from __future__ import annotations

import hashlib
import hmac
import re
from urllib.parse import quote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel as kernel
from anabranch.signing.canonical_v4 import (
    canonical_request,
    is_signature,
    sign_canonical,
    string_to_sign,
)
from anabranch.signing.credential_scope import Scope
from anabranch.signing.request import Request, join_headers

SENT = st.text(st.sampled_from("aZ09-._~/%%2f7E+=&é\xff! \t"), max_size=20)
NAMES = st.sampled_from(["host", "x-amz-a", "x-amz-b", "content-type"])
HEADERS = st.dictionaries(NAMES, SENT.map(str.strip))
SCOPE = Scope("20240229", "us-east-1")


def modelled(request, names, payload, *, as_sent):
    """Returns the canonical form as AWS's documentation describes it."""

    def encoded(text, safe=""):
        return quote(unquote_to_bytes(text.encode("latin-1")), safe=safe)

    parts = [part for part in request.query.split("&") if part]
    pairs = [part.partition("=")[::2] for part in parts if not part.startswith("X-Amz-Signature=")]
    path, values = request.path or "/", dict(request.headers)
    if not as_sent:
        path = encoded(path, safe="/")
        pairs = [tuple(encoded(text.replace("+", " ")) for text in pair) for pair in pairs]
        values = {
            name: re.sub("[ \t]+", " ", value) if re.search("  |\t", value) else value
            for name, value in values.items()
        }
    lines = [request.method, path, "&".join("=".join(pair) for pair in sorted(pairs))]
    lines += [f"{name}:{values.get(name, '')}" for name in names.split(";")]
    return "\n".join([*lines, "", names, payload])


@given(SENT, SENT, HEADERS, st.lists(NAMES, min_size=1), st.booleans())
def test_the_canonical_form_is_that_of_a_plain_model(path, query, headers, names, as_sent):
    request = Request(method="PUT", path=path, query=query, headers=headers)
    signed = ";".join(names)
    expected = modelled(request, signed, "p", as_sent=as_sent)
    assert canonical_request(request, signed, "p", as_sent=as_sent) == expected


def test_the_signature_itself_is_not_signed():
    query = "b=1&X-Amz-Signature=abc&X-Amz-SignatureX=1&X-Amz-Signature&a"
    request = Request(method="GET", path="/", query=query, headers={})
    line = canonical_request(request, "host", "p").split("\n")[2]
    assert line == "X-Amz-Signature=&X-Amz-SignatureX=1&a=&b=1"


@given(st.binary(min_size=32, max_size=32), SENT)
def test_a_signature_is_the_hmac_of_the_string_to_sign(key, canonical):
    text = string_to_sign("20240229T120000Z", SCOPE, canonical)
    expected = hmac.new(key, text.encode("latin-1"), hashlib.sha256).hexdigest()
    assert sign_canonical(key, "20240229T120000Z", SCOPE, canonical) == expected


@given(st.binary(min_size=32, max_size=32), SENT, SENT, st.booleans(), st.data())
def test_a_signature_is_found_true_and_a_damaged_one_is_not(key, path, query, as_sent, data):
    request = Request(method="GET", path=path, query=query, headers={"host": "sea"})
    signed = (key, "20240229T120000Z", SCOPE)
    signature = sign_canonical(*signed, canonical_request(request, "host", "p", as_sent=as_sent))
    assert is_signature(signature, *signed, request, "host", "p", as_sent=as_sent)
    at = data.draw(st.integers(0, len(signature) - 1))
    letter = data.draw(st.sampled_from("0123456789abcdefABCDEF\xe9 "))
    damaged = signature[:at] + letter + signature[at + 1 :]
    found = is_signature(damaged, *signed, request, "host", "p", as_sent=as_sent)
    assert found == (damaged == signature)


@given(st.lists(st.tuples(st.sampled_from([b"A", b"a", b"B-c", b"\xc0"]), st.binary(max_size=9))))
def test_headers_are_joined_as_a_plain_model_joins_them(pairs):
    expected: dict[str, list[str]] = {}
    for name, value in pairs:
        text = value.decode("latin-1").strip(" \t\r\n\v\f")
        expected.setdefault(name.lower().decode("latin-1"), []).append(text)
    joined = {name: ",".join(values) for name, values in expected.items()}
    assert join_headers(pairs) == joined
    assert list(join_headers(pairs)) == list(joined)


def test_values_that_are_not_latin_1_text_are_rejected():
    with pytest.raises(ValueError, match="a character for each byte"):
        kernel.canonical_request(("GET", "/漢", "", {}, "host", "p"))
    with pytest.raises(TypeError):
        kernel.canonical_request(("GET", "/", "", {"host": 1}, "host", "p"))  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        join_headers([("host", 1)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="32 bytes"):
        kernel.signature_v4(b"short", "t", "s", "c")
    with pytest.raises(ValueError, match="32 bytes"):
        kernel.is_signature_v4("00", b"short", "t", "s", ("GET", "/", "", {}, "host", "p"))
