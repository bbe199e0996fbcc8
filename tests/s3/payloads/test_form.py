"""Forms of uploads, read in every way they may be cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.s3.payloads.form import reaches_file, read_form

TYPE = 'Multipart/Form-Data; boundary="b x"'
HEAD = (
    b'preamble\r\n--b x\r\nContent-Disposition: form-data; name="Key"\r\n\r\nmain/${filename}\r\n'
    b"--b x\r\ncontent-disposition: form-data; name=acl\r\n\r\n\r\n"
    b'--b x\r\nContent-Disposition: form-data; name="file"; filename="C:\\a\\\xc3\xbc.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\n"
)
TAIL = b'\r\n--b x\r\nContent-Disposition: form-data; name="late"\r\n\r\nx\r\n--b x--\r\nepilogue'


def cut(body, places):
    ends = [*sorted(place % (len(body) + 1) for place in places), len(body)]
    start = 0
    for end in ends:
        yield body[start:end]
        start = end


@given(st.binary(max_size=60), st.lists(st.integers(0), max_size=30))
def test_a_form_is_read_however_it_is_cut(content, places):
    if b"\r\n--b x" in content:
        return
    form = read_form(TYPE, cut(HEAD + content + TAIL, places))
    assert form.fields == {"key": "main/ü.txt", "acl": ""}
    assert b"".join(form.content) == content


def test_the_file_is_reached_when_its_headers_are_there():
    reached = [reaches_file(TYPE, HEAD[:end]) for end in range(len(HEAD) + 1)]
    assert reached == [False] * len(HEAD) + [True]
    assert reaches_file(TYPE, HEAD + b"content")


def test_malformed_form_needs_no_more_data():
    assert reaches_file("multipart/form-data", b"")
    assert reaches_file(TYPE, b"--b x--")
    assert reaches_file(TYPE, b"x" * (21 << 10))
    assert not reaches_file(TYPE, b"x" * (19 << 10))
