"""Bodies in every form, cut anywhere, and each damaged in one place."""

from __future__ import annotations

import base64
import hashlib
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clients.s3_uploads import (
    Upload,
    checksum,
    plain,
    signed_chunks,
    unsigned_chunks,
    uploads,
)
from support.session.hypothesis_profiles import examples

from anabranch.errors import Truncated
from anabranch.s3.payloads import payload as payload_module
from anabranch.s3.payloads.checksums import ALGORITHMS
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.protocol.errors import S3Error


def md5(body):
    return base64.b64encode(hashlib.md5(body).digest()).decode()


def digest(body):
    return {"x_amz_content_sha256": hashlib.sha256(body).hexdigest()}


def cut(wire, cuts):
    places = sorted({0, len(wire), *(at % (len(wire) + 1) for at in cuts)})
    return [wire[a:b] for a, b in itertools.pairwise(places)] + [b""]


def code(call, *arguments):
    with pytest.raises(S3Error) as caught:
        call(*arguments)
    return caught.value.code


CUT_OFF = {"IncompleteBody", "InvalidRequest", "MalformedTrailerError", "SignatureDoesNotMatch"}
TRAILERS = st.sampled_from(sorted(ALGORITHMS))


@settings(max_examples=examples(150), deadline=None)
@given(
    st.binary(max_size=300),
    st.integers(1, 400),
    TRAILERS,
    st.lists(st.integers(0, 2000), max_size=12),
)
def test_every_form_cut_anywhere(body, size, trailer, cuts):
    for what, upload in uploads(body, size, trailer):
        payload = upload.payload(cut(upload.wire, cuts))
        assert payload.length == len(body), what
        assert b"".join(payload) == body, what
        if what.endswith("trailer") or what == "checksum":
            assert payload.checksum == (trailer, checksum(trailer, body))
        else:
            assert payload.checksum is None
        single = [upload.wire[at : at + 1] for at in range(len(upload.wire))]
        assert upload.read(single) == body, what


@settings(max_examples=examples(60), deadline=None)
@given(
    st.binary(min_size=1, max_size=60),
    st.integers(1, 40),
    TRAILERS,
    st.integers(0, 7),
    st.randoms(use_true_random=False),
)
def test_any_flipped_bit_is_detected(body, size, trailer, bit, random):
    for what, upload in uploads(body, size, trailer):
        for at in random.sample(range(len(upload.wire)), min(12, len(upload.wire))):
            wire = bytearray(upload.wire)
            wire[at] ^= 1 << bit
            if not means_the_same(upload.wire, at, wire):
                got = []
                with pytest.raises(S3Error):
                    got.extend(upload._replace(wire=bytes(wire)).payload())
                assert len(b"".join(got)) < len(body), what


def means_the_same(wire, at, changed):
    """Whether only the case of a letter has changed where case means nothing, in the digits of a
    chunk's size or in a trailing header's name.
    """
    before, after = wire[at : at + 1], bytes(changed[at : at + 1])
    line = wire[wire.rfind(b"\n", 0, at) + 1 : at]
    framing = not line.strip(b"0123456789abcdef") or b":" not in line
    return before.lower() == after.lower() and framing


@settings(max_examples=examples(10), deadline=None)
@given(st.binary(min_size=1, max_size=40), st.integers(1, 40), TRAILERS)
def test_cut_off_anywhere(body, size, trailer):
    for what, upload in uploads(body, size, trailer):
        for end in range(len(upload.wire)):
            short = upload._replace(wire=upload.wire[:end])
            unsaid = {k: v for k, v in short.headers.items() if k != "content-length"}
            if short.headers != unsaid:
                assert code(short.read) in CUT_OFF, what
            lost = upload.wire[end:]
            if upload.verified is not None and lost in {b"\r\n", b"\n"}:
                # the empty line at the end tells nothing
                assert short._replace(headers=unsaid).read() == body
            elif upload.verified is not None and lost.strip(b"\r\n"):
                assert code(short._replace(headers=unsaid).read) in CUT_OFF, what


BODY = bytes(random.Random(7).randbytes(1000))


@pytest.mark.parametrize(
    ("upload", "expected"),
    [
        (plain(BODY, **digest(BODY)), "XAmzContentSHA256Mismatch"),
        (plain(BODY, content_md5=md5(BODY)), "BadDigest"),
        (plain(BODY, x_amz_checksum_crc64nvme=checksum("crc64nvme", BODY)), "BadDigest"),
        (signed_chunks(BODY, 300), "SignatureDoesNotMatch"),
        (signed_chunks(BODY, 300, "sha1"), "SignatureDoesNotMatch"),
        (unsigned_chunks(BODY, 300, "crc32c"), "BadDigest"),
    ],
)
def test_body_with_another_digest_is_rejected(upload, expected):
    wire = upload.wire.replace(BODY[700:703], b"xyz")
    assert wire != upload.wire
    assert code(upload._replace(wire=wire).read) == expected


def test_lengths():
    assert code(Upload({"content-length": "4"}, b"hello").read) == "IncompleteBody"
    assert code(Upload({"content-length": "6"}, b"hello").read) == "IncompleteBody"
    assert Upload({}, b"hello").read() == b"hello"
    upload = signed_chunks(BODY, 300)
    longer = {**upload.headers, "content-length": str(len(upload.wire) + 1)}
    assert code(upload._replace(headers=longer).read) == "IncompleteBody"
    for length in (len(BODY) - 1, len(BODY) + 1):
        headers = {**upload.headers, "x-amz-decoded-content-length": str(length)}
        assert code(upload._replace(headers=headers).read) in {
            "IncompleteBody",
            "InvalidChunkSizeError",
        }


def test_a_body_that_is_too_long_is_not_read_to_its_end():
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield b"x" * 1000

    upload = Upload({"content-length": "5000"}, b"")
    assert code(upload.read, endless()) == "IncompleteBody"
    assert len(taken) == 6


def test_the_last_piece_waits_for_the_proof():
    body = [b"a" * 10, b"b" * 10, b"c" * 10]
    wrong = plain(b"".join(body), content_md5=md5(b"other"))
    got = []
    with pytest.raises(S3Error):
        got.extend(wrong.payload(body))
    assert got == body[:2]


def test_headers_are_checked_before_anything_is_read():
    def unread():
        pytest.fail("the body was read")
        yield b""

    with pytest.raises(S3Error):
        Payload({"content-md5": "x"}, unread())
    assert Payload({"content-length": "5"}, unread()).length == 5


def test_a_body_that_breaks_off_raises_what_its_source_raises():
    def broken():
        yield b"hel"
        raise Truncated("the client went away")

    with pytest.raises(Truncated):
        Upload({"content-length": "5"}, b"").read(broken())


def test_read_has_a_limit():
    assert plain(b"hello").payload().read(5) == b"hello"
    assert code(plain(b"hello").payload().read, 4) == "MaxMessageLengthExceeded"
    assert code(Upload({}, b"hello").payload().read, 4) == "MaxMessageLengthExceeded"


def test_the_md5_may_be_computed_elsewhere():
    wrong = plain(b"hello", content_md5=md5(b"other")).payload(defer_md5=True)
    assert b"".join(wrong) == b"hello"
    assert code(wrong.check_md5, hashlib.md5(b"hello").hexdigest()) == "BadDigest"
    right = plain(b"hello", content_md5=md5(b"hello")).payload(defer_md5=True)
    right.check_md5(hashlib.md5(b"hello").hexdigest())
    plain(b"hello").payload().check_md5("0" * 32)


def test_each_digest_is_computed_once(monkeypatch):
    made = []
    algorithms = {
        name: algorithm._replace(
            new=lambda name=name, new=algorithm.new: made.append(name) or new()
        )
        for name, algorithm in ALGORITHMS.items()
    }
    monkeypatch.setattr(payload_module, "ALGORITHMS", algorithms)
    body = b"hello"
    upload = plain(body, **digest(body), x_amz_checksum_sha256=checksum("sha256", body))
    assert upload.read() == body
    assert made == ["sha256"]
