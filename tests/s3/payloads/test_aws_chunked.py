"""Bodies in chunks: framing, signatures and trailing headers, as AWS and botocore write them."""

from __future__ import annotations

import io
import random

import pytest
from botocore.httpchecksum import _CHECKSUM_CLS, AwsChunkedWrapper
from support.clients.s3_uploads import (
    SIGNED,
    SIGNED_TRAILER,
    UNSIGNED_TRAILER,
    Upload,
    checksum,
    seed,
    signed_chunks,
    unsigned_chunks,
)

from anabranch.model.secret import Secret
from anabranch.s3.payloads.checksums import ALGORITHMS
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.chunk_signatures import ChunkSeed
from anabranch.signing.credential_scope import Scope
from anabranch.signing.signing_keys import derive

BODY = random.Random(7).randbytes(1000)


def code(call, *arguments):
    with pytest.raises(S3Error) as caught:
        call(*arguments)
    return caught.value.code


def verified(payload):
    return Verified(access_key_id="AKIA", payload=payload, seed=seed())


@pytest.mark.parametrize("size", [1, 300, 1000, 2000])
@pytest.mark.parametrize("name", sorted(set(_CHECKSUM_CLS) & set(ALGORITHMS)))
def test_chunks_that_botocore_writes(name, size):
    for body in (BODY, b""):
        wrapper = AwsChunkedWrapper(
            io.BytesIO(body), _CHECKSUM_CLS[name], f"x-amz-checksum-{name}", chunk_size=size
        )
        upload = unsigned_chunks(body, size, name)
        wire = wrapper.read()
        assert wire == upload.wire
        payload = upload.payload([wire])
        assert b"".join(payload) == body
        assert payload.checksum == (name, checksum(name, body))


@pytest.mark.parametrize("trailer", [None, "crc32"])
@pytest.mark.parametrize("chunk", range(5))
def test_a_chunk_s_signature(trailer, chunk):
    upload = signed_chunks(BODY, 300, trailer)
    parts = upload.wire.split(b"chunk-signature=")
    assert len(parts) == 6
    parts[chunk + 1] = (b"0" if parts[chunk + 1][:1] != b"0" else b"1") + parts[chunk + 1][1:]
    wire = b"chunk-signature=".join(parts)
    assert code(upload._replace(wire=wire).read) == "SignatureDoesNotMatch"


def test_chunks_dropped_exchanged_or_repeated():
    upload = signed_chunks(BODY[:900], 300)
    size = len(b"12c;chunk-signature=\r\n\r\n") + 64 + 300
    chunks = [upload.wire[at : at + size] for at in range(0, 3 * size, size)]
    last = upload.wire[3 * size :]
    for order in ((1, 0, 2), (0, 0, 2), (0, 1, 1)):
        wire = b"".join(chunks[index] for index in order) + last
        assert code(upload._replace(wire=wire).read) == "SignatureDoesNotMatch"
    short = {**upload.headers, "x-amz-decoded-content-length": "600"}
    wire = chunks[0] + chunks[1] + last
    short["content-length"] = str(len(wire))
    assert code(Upload(short, wire, upload.verified).read) == "SignatureDoesNotMatch"


def test_signatures_of_another_request():
    upload = signed_chunks(BODY, 300)
    other = Verified(access_key_id="AKIA", payload=SIGNED, seed=seed("6" * 64))
    stolen = upload._replace(verified=other)
    assert code(stolen.read) == "SignatureDoesNotMatch"


def test_trailing_headers():
    upload = signed_chunks(BODY, 300, "crc32")
    value = checksum("crc32", BODY).encode()
    line = b"x-amz-checksum-crc32:" + value + b"\r\n"
    signature = upload.wire[upload.wire.index(b"x-amz-trailer-signature:") :]

    def read(old, new, of=upload):
        assert old in of.wire
        wire = of.wire.replace(old, new)
        headers = {name: text for name, text in of.headers.items() if name != "content-length"}
        return Upload(headers, wire, of.verified).read()

    assert code(read, value, b"AAAAAA==") == "SignatureDoesNotMatch"
    assert code(read, signature[24:88], b"0" * 64) == "SignatureDoesNotMatch"
    assert code(read, signature, b"\r\n") == "MalformedTrailerError"
    assert code(read, line, b"") == "SignatureDoesNotMatch"
    assert code(read, line, line + line) == "MalformedTrailerError"
    assert code(read, line, line + b"x-amz-meta-a:b\r\n") == "SignatureDoesNotMatch"
    # AWS's documents end the signed lines with a newline before CR LF
    assert read(line, line[:-2] + b"\n\r\n\r\n\r\n") == BODY
    assert read(line, line.replace(b":", b" : ").replace(b" :", b":")) == BODY

    unsigned = unsigned_chunks(BODY, 300, "crc32")
    assert code(read, value, b"AAAAAA==", unsigned) == "BadDigest"
    assert code(read, value, b"AAAA", unsigned) == "InvalidRequest"
    assert code(read, line, b"", unsigned) == "MalformedTrailerError"
    assert code(read, line, line + b"x:y\r\n", unsigned) == "MalformedTrailerError"
    assert code(read, line, b"x-amz-checksum-crc32\r\n", unsigned) == "MalformedTrailerError"
    assert code(read, b"x-amz-checksum-crc32:", b"x-amz-checksum-crc32c:", unsigned) == (
        "MalformedTrailerError"
    )
    assert code(read, line, line + b"x" * 20_000, unsigned) == "MalformedTrailerError"
    undeclared = {**unsigned.headers}
    del undeclared["x-amz-trailer"]
    assert code(unsigned._replace(headers=undeclared).read) == "MalformedTrailerError"


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"", "IncompleteBody"),
        (b"5\r\n", "IncompleteBody"),
        (b"5\nhello\r\n0\r\n\r\n", "IncompleteBody"),
        (b"5\r\nhello0\r\n\r\n", "IncompleteBody"),
        (b"5\r\nhelloo\r\n0\r\n\r\n", "IncompleteBody"),
        (b"4\r\nhell\r\n0\r\n\r\n", "IncompleteBody"),
        (b"5\r\nhello\r\n", "IncompleteBody"),
        (b"x\r\nhello\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b"-5\r\nhello\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b"+5\r\nhello\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b"0x5\r\nhello\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b" 5\r\nhello\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b"\r\nhello\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b"6\r\nhello!\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b"ffffffffffffffff\r\nhello", "InvalidChunkSizeError"),
        (b"00000000000000005\r\nhello\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", "InvalidChunkSizeError"),
        (b"5\r\nhello\r\n0\r\n\r\nmore", "MalformedTrailerError"),
        (b"5\r\nhello\r\n0\r\na:b\r\n\r\n", "MalformedTrailerError"),
    ],
)
def test_malformed_chunks(wire, expected):
    headers = {"x-amz-content-sha256": UNSIGNED_TRAILER, "x-amz-decoded-content-length": "5"}
    assert Upload(headers, b"5\r\nhello\r\n0\r\n\r\n").read() == b"hello"
    assert Upload(headers, b"5;any=thing\r\nhello\r\n0\r\n").read() == b"hello"
    assert code(Upload(headers, wire).read) == expected


def test_signed_chunks_without_a_signature():
    headers = {"x-amz-decoded-content-length": "5"}
    upload = Upload(headers, b"5\r\nhello\r\n0\r\n\r\n", verified(SIGNED))
    assert code(upload.read) == "IncompleteBody"


@pytest.mark.parametrize("piece", [1, 1000, 30_000])
def test_a_line_without_an_end_is_not_kept(piece):
    taken = []

    def endless():
        while True:
            taken.append(piece)
            yield b"0" * piece

    for word in (UNSIGNED_TRAILER, SIGNED):
        taken.clear()
        upload = Upload({"x-amz-decoded-content-length": "5"}, b"", verified(word))
        assert code(upload.read, endless()) == "IncompleteBody"
        assert sum(taken) <= 16 * 1024 + piece


# AWS, "Signature calculations for the authorization header: transferring payload in multiple
# chunks" and "Signature calculations for trailing headers"
PUBLISHED = Scope("20130524", "us-east-1")
PUBLISHED_KEY = derive(Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), PUBLISHED)
LETTERS = b"a" * 65536, b"a" * 1024, b""


def published(word, seed_signature, signatures, end):
    chunks = [
        b"%x;chunk-signature=%s\r\n%s" % (len(data), signature.encode(), data and data + b"\r\n")
        for data, signature in zip(LETTERS, signatures, strict=True)
    ]
    start = ChunkSeed(PUBLISHED_KEY, "20130524T000000Z", PUBLISHED.text, seed_signature)
    return Upload(
        {"x-amz-decoded-content-length": "66560"},
        b"".join(chunks) + end,
        Verified(access_key_id="AKIAIOSFODNN7EXAMPLE", payload=word, seed=start),
    )


def test_the_published_chunks():
    upload = published(
        SIGNED,
        "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
        [
            "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
            "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
            "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
        ],
        b"\r\n",
    )
    assert len(upload.wire) == 66824
    assert upload.read() == b"a" * 66560


def test_the_published_trailer():
    upload = published(
        SIGNED_TRAILER,
        "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
        [
            "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
            "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
            "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
        ],
        b"x-amz-checksum-crc32c:sOO8/Q==\n\r\n\r\n\r\nx-amz-trailer-signature:"
        b"d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n",
    )
    upload.headers["x-amz-trailer"] = "x-amz-checksum-crc32c"
    payload = upload.payload()
    assert b"".join(payload) == b"a" * 66560
    assert payload.checksum == ("crc32c", "sOO8/Q==")
