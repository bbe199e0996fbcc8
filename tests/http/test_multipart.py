"""The parser of multipart forms, with forms cut into random chunks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Invalid, Truncated
from anabranch.rest.protocol.multipart import content_part

BOUNDARY = "----b0undary"
FORM = f"multipart/form-data; boundary={BOUNDARY}"


def form(*parts: tuple[str, bytes], preamble: bytes = b"", epilogue: bytes = b"\r\n") -> bytes:
    delimiter = b"--" + BOUNDARY.encode()
    pieces = [preamble]
    for index, (headers, content) in enumerate(parts):
        pieces += [b"" if index == 0 and not preamble else b"\r\n", delimiter, b"\r\n"]
        pieces += [headers.replace("\n", "\r\n").encode(), b"\r\n\r\n", content]
    return b"".join([*pieces, b"\r\n", delimiter, b"--", epilogue])


def content(name: str = "content", extra: str = "") -> str:
    return f'Content-Disposition: form-data; name="{name}"{extra}'


def read(body: bytes, cuts: list[int] | None = None) -> tuple[str, bytes]:
    content_type, chunks = content_part(FORM, cut(body, cuts or []))
    return content_type, b"".join(chunks)


def cut(body: bytes, cuts: list[int]) -> list[bytes]:
    positions = [0, *sorted(position % (len(body) + 1) for position in cuts), len(body)]
    return [body[start:end] for start, end in pairwise(positions)]


# bytes that look like delimiters, which break naive parsers
tricky = st.lists(
    st.sampled_from([b"\r", b"\n", b"-", b"--", b"\r\n--", b"\r\n------b0undar", b"x", b"\0"])
    | st.binary(max_size=20),
    max_size=30,
).map(b"".join)
contents = tricky.filter(lambda data: b"\r\n--" + BOUNDARY.encode() not in b"\r\n" + data + b"\r\n")


@given(contents, contents, st.lists(st.integers(min_value=0), max_size=40), st.binary(max_size=40))
def test_any_content_is_read_from_any_chunks(wanted, other, cuts, preamble):
    body = form(
        (content("note"), other),
        (content(extra='; filename="name=content"') + "\nContent-Type: text/x-abc", wanted),
        (content(), other),
        preamble=preamble.replace(b"-", b"_"),
        epilogue=b"\r\nepilogue",
    )
    assert read(body, cuts) == ("text/x-abc", wanted)


def test_a_form_may_arrive_byte_by_byte():
    body = form((content() + "\nContent-Type: text/plain", b"\r\n--x\r\n"))
    assert read(body, list(range(len(body)))) == ("text/plain", b"\r\n--x\r\n")


@given(contents, st.integers(min_value=0), st.lists(st.integers(min_value=0), max_size=10))
def test_a_form_without_its_last_delimiter_raises_invalid(wanted, length, cuts):
    body = form((content(), wanted))
    shortened = body[: length % (len(body) - len(BOUNDARY) - 7)]
    with pytest.raises(Invalid):
        read(shortened, cuts)


@pytest.mark.parametrize("length", [0, 10, 90, 200])
def test_an_interrupted_body_interrupts_the_content(length):
    body = form((content(), b"a" * 100))[:length]

    def chunks() -> Iterator[bytes]:
        yield body
        raise Truncated("gone")

    with pytest.raises(Truncated):
        list(content_part(FORM, chunks())[1])


def test_an_interruption_after_the_content_raises_truncated():
    def chunks() -> Iterator[bytes]:
        yield form((content(), b"abc"))
        raise Truncated("gone")

    _, pieces = content_part(FORM, chunks())
    with pytest.raises(Truncated):
        list(pieces)


def test_a_large_form_is_read_in_little_memory():
    size, chunk = 64 * 1024 * 1024, b"x" * 65536
    head, tail = form((content(), b"|")).split(b"|")

    def chunks() -> Iterator[bytes]:
        yield head
        for _ in range(size // len(chunk)):
            yield chunk
        yield tail

    longest = total = 0
    for piece in content_part(FORM, chunks())[1]:
        longest, total = max(longest, len(piece)), total + len(piece)
    assert total == size
    assert longest <= 2 * len(chunk)


@pytest.mark.parametrize(
    ("content_type", "wanted"),
    [
        (f'multipart/form-data; boundary="{BOUNDARY}"', b"abc"),
        (f"Multipart/Form-Data; charset=utf-8; Boundary={BOUNDARY}", b"abc"),
    ],
)
def test_boundaries_are_read_in_all_spellings(content_type, wanted):
    _, pieces = content_part(content_type, [form((content(), wanted))])
    assert b"".join(pieces) == wanted


@pytest.mark.parametrize(
    "content_type",
    ["multipart/form-data", "multipart/form-data; boundary=", f"x; boundary={'b' * 300}"],
)
def test_a_form_without_a_valid_boundary_raises_invalid(content_type):
    with pytest.raises(Invalid, match="boundary"):
        content_part(content_type, [form((content(), b"abc"))])


def test_a_form_without_a_content_part_raises_invalid():
    with pytest.raises(Invalid, match="no part named content"):
        read(form((content("file"), b"abc"), ("X: y", b"abc")))


def test_too_many_headers_or_parts_raise_invalid():
    with pytest.raises(Invalid, match="too long"):
        read(form((content() + "\nX: " + "y" * 20000, b"abc")))
    with pytest.raises(Invalid, match="no part named content"):
        read(form(*[(content("x"), b"")] * 101, (content(), b"abc")))


@pytest.mark.parametrize("disposition", ["form-data; name=content", 'form-data; NAME="con\\tent"'])
def test_part_names_are_read_in_all_spellings(disposition):
    assert read(form((f"content-disposition: {disposition}", b"abc"))) == ("", b"abc")


def test_a_part_without_headers_is_skipped():
    body = form((content(), b"abc")).replace(
        b"--" + BOUNDARY.encode(), b"\r\n--" + BOUNDARY.encode(), 1
    )
    bare = b"--" + BOUNDARY.encode() + b"\r\n\r\nbare"
    assert read(bare + body) == ("", b"abc")
