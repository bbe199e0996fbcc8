"""XML written and read, compared with the standard library's own."""

from __future__ import annotations

import contextlib
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_reader import read_xml
from anabranch.s3.protocol.xml_writer import document, element, leaf

# what XML 1.0 can hold
texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r<>&'\"]")
)


@given(texts, texts)
def test_any_text_survives(first, second):
    written = document("Root", leaf("A", first), element("B", leaf("C", second)))
    root = ET.fromstring(written)  # noqa: S314  we wrote it ourselves
    namespace = "{http://s3.amazonaws.com/doc/2006-03-01/}"
    assert (root.findtext(f"{namespace}A") or "") == first
    read = read_xml(written, "Root")
    assert read.child_text("A") == first
    assert next(read.all("B")).child_text("C") == second
    assert read.child_text("D") is None


def test_characters_outside_xml_become_numeric_references():
    assert leaf("A", "\x01\udcff\uffff") == "<A>&#x1;\ufffd&#xFFFF;</A>"


@given(st.binary(max_size=200) | st.text("<>/ab&;!\"' ").map(str.encode))
def test_reader_raises_only_s3_errors(body):
    with contextlib.suppress(S3Error):
        assert read_xml(body, "a").name == "a"


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE a><a/>",
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a>" * 17 + b"</a>" * 17,
        b"<a>" + b"<b/>" * 100_000 + b"</a>",
        b'<?xml version="1.0" encoding="no-such"?><a/>',
    ],
)
def test_invalid_documents_are_rejected(body):
    with pytest.raises(S3Error):
        read_xml(body, "a")
