"""Metadata on its way through headers, compared with the standard library's encoded words."""

from __future__ import annotations

from email.header import decode_header, make_header

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.s3.headers.user_metadata import metadata_headers, parse_user_metadata
from anabranch.s3.protocol.errors import S3Error

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80)


@given(texts)
def test_any_text_survives(text):
    ((name, sent),) = metadata_headers({"X-Amz-Meta-k": text})
    assert name == "x-amz-meta-k"
    assert all(" " <= character <= "~" for character in sent)
    if not text.isascii():
        assert str(make_header(decode_header(sent))) == text
        assert parse_user_metadata({name: sent}) == {"X-Amz-Meta-k": text}
        assert all(len(word) <= 75 for word in sent.split(" "))


def test_bytes_of_headers_are_utf_8_or_latin_1():
    utf_8 = "grün".encode().decode("latin-1")
    assert parse_user_metadata({"x-amz-meta-k": utf_8}) == {"X-Amz-Meta-k": "grün"}
    assert parse_user_metadata({"x-amz-meta-k": "grün"}) == {"X-Amz-Meta-k": "grün"}
    assert parse_user_metadata({"x-amz-meta-k": "=?no-such-charset?Q?x?="}) == {
        "X-Amz-Meta-k": "=?no-such-charset?Q?x?="
    }


def test_metadata_size_limit():
    assert parse_user_metadata({"x-amz-meta-k": "v" * 2047})
    with pytest.raises(S3Error) as error:
        parse_user_metadata({"x-amz-meta-k": "v" * 2048})
    assert error.value.code == "MetadataTooLarge"


def test_standard_headers_have_a_limit_of_their_own():
    both = {"x-amz-meta-k": "v" * 2047, "cache-control": "c" * 4000}
    assert parse_user_metadata(both)
    with pytest.raises(S3Error) as error:
        parse_user_metadata({**both, "expires": "e" * 4000})
    assert error.value.code == "MetadataTooLarge"


def test_metadata_that_no_client_can_receive_are_counted_as_missing():
    metadata = {"X-Amz-Meta-a": "v" * 70_000, "X-Amz-Meta-b": "1", "Expires": "e" * 70_000}
    assert metadata_headers(metadata) == [("x-amz-meta-b", "1"), ("x-amz-missing-meta", "2")]


def test_internal_metadata_is_hidden_from_s3_clients():
    metadata = {"other": "1", "X-Amz-Meta-a b": "2", "X-Amz-Tagging": "t=1", "Expires": "0"}
    assert metadata_headers(metadata) == [("Expires", "0"), ("x-amz-missing-meta", "1")]
    assert parse_user_metadata({"content-encoding": "aws-chunked", "x-amz-date": "x"}) == {}
    assert parse_user_metadata({"content-encoding": "gzip,aws-chunked"}) == {
        "Content-Encoding": "gzip"
    }
