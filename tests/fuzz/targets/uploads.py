"""Uploads: bodies in chunks of S3, signed or not, and multipart forms of web pages and of REST."""

from __future__ import annotations

import base64
import json
import random
import zlib
from collections.abc import Callable

import msgspec
from fuzz.mutation import cut
from fuzz.shapes import JSON
from fuzz.target import Refused, Target, outcome, refusals
from python_multipart.multipart import FormParser, parse_options_header
from support.clients.s3_uploads import Upload, seed, signed_chunks, unsigned_chunks

from anabranch.rest.protocol.multipart import content_part
from anabranch.s3.payloads.form import read_form
from anabranch.s3.payloads.post_policy import check_policy
from anabranch.s3.signatures.verified import Verified

__all__ = ["TARGETS"]

_BODY = bytes(range(256)) * 2
_ATTEMPTS = 3


def _packed(upload: Upload) -> bytes:
    """Returns the upload as an input: a line with the headers, and the body."""
    word = "" if upload.verified is None else upload.verified.payload
    return json.dumps([upload.headers, word]).encode() + b"\n" + upload.wire


def _same_for_all_cuts(data: bytes, read: Callable[[list[bytes]], object]) -> object:
    source = random.Random(zlib.crc32(data))
    whole = outcome(read, [data])
    for _ in range(_ATTEMPTS):
        pieces = cut(source, data)
        other = outcome(read, pieces)
        assert other == whole, f"the cuts matter: {whole!r}, and {other!r} for {pieces!r}"
    return whole


def check_chunks(data: bytes) -> None:
    line, _, wire = data.partition(b"\n")
    try:
        headers, word = msgspec.json.decode(line, type=tuple[dict[str, str], str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        headers, word, wire = {"x-amz-decoded-content-length": "3"}, "", data
    headers = {name.lower(): value for name, value in headers.items()}
    verified = Verified(access_key_id="AKIA", payload=word, seed=seed()) if word else None
    upload = Upload(headers, wire, verified)
    body = _same_for_all_cuts(wire, upload.read)
    if isinstance(body, Refused):
        return
    assert isinstance(body, bytes)
    assert len(body) <= len(wire)
    if word.startswith("STREAMING-AWS4"):
        # a forged chunk would not have the signature
        assert body in (_BODY, b"", b"abc"), f"{body!r} was never signed"


def check_form(data: bytes) -> None:
    """A form of REST, and of S3. The first line is the content type."""
    line, _, wire = data.partition(b"\n")
    content_type = line.decode("latin-1")

    def of_rest(pieces: list[bytes]) -> tuple[str, bytes]:
        kind, content = content_part(content_type, iter(pieces))
        return kind, b"".join(content)

    def of_s3(pieces: list[bytes]) -> tuple[dict[str, str], bytes]:
        form = read_form(content_type, iter(pieces))
        return dict(form.fields), b"".join(form.content)

    _same_for_all_cuts(wire, of_rest)
    found = _same_for_all_cuts(wire, of_s3)
    if isinstance(found, Refused):
        return
    assert isinstance(found, tuple)
    fields, content = found
    assert sum(map(len, fields.values())) <= 21 * len(wire) * 1025 + 1024
    theirs = _file_of_library(content_type, wire)
    assert theirs is None or theirs == content, f"{theirs!r} and {content!r}"


def _file_of_library(content_type: str, wire: bytes) -> bytes | None:
    """Returns the content of the last part named `file`, None if the library refuses the form or
    finds several.
    """
    _, options = parse_options_header(content_type)
    files: list[bytes] = []

    def on_file(file: object) -> None:
        if file.field_name == b"file":  # type: ignore[attr-defined]
            stream = file.file_object  # type: ignore[attr-defined]
            stream.seek(0)
            files.append(stream.read())

    try:
        parser = FormParser(
            "multipart/form-data", lambda _: None, on_file, boundary=options.get(b"boundary")
        )
        parser.write(wire)
        parser.finalize()
    except Exception:  # noqa: BLE001  it raises what it likes
        return None
    return files[0] if len(files) == 1 else None


def check_post_policy(data: bytes) -> None:
    fields = {"key": "main/a", "content-type": "text/csv", "x-amz-algorithm": "AWS4-HMAC-SHA256"}
    text = base64.b64encode(data).decode()
    for given in (text, data.decode("latin-1")):
        found = outcome(check_policy, given, fields, "repo", 1_700_000_000.0)
        if not isinstance(found, Refused):
            assert found.minimum >= 0
            with refusals():
                assert sum(map(len, found.limited(iter([b"x" * 10])))) == 10


def _form(*parts: tuple[str, bytes], boundary: str = "b") -> bytes:
    lines = [f"multipart/form-data; boundary={boundary}\n".encode()]
    for disposition, content in parts:
        lines.append(
            f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode()
            + content
            + b"\r\n"
        )
    return b"".join([*lines, f"--{boundary}--\r\n".encode()])


TARGETS = (
    Target(
        "aws_chunked",
        check_chunks,
        lambda: [
            *(_packed(unsigned_chunks(_BODY, size, "crc32")) for size in (100, 1000)),
            *(_packed(signed_chunks(_BODY, 200, trailer)) for trailer in (None, "sha256")),
            _packed(signed_chunks(b"abc", 2, "crc32c")),
            _packed(signed_chunks(b"", 2)),
        ],
        (
            *(b"\r\n", b"\n", b";chunk-signature=", b"0\r\n", b"x-amz-checksum-crc32:", b":"),
            *(b"x-amz-trailer-signature:", b"0;chunk-signature=", b"\r\n\r\n", b"3\r\nabc\r\n"),
            *(b"aws-chunked", b"STREAMING-UNSIGNED-PAYLOAD-TRAILER", b"UNSIGNED-PAYLOAD", b","),
        ),
    ),
    Target(
        "form",
        check_form,
        lambda: (
            _form(('name="content"; filename="a.csv"', b"a,b\n1,2\n")),
            _form(
                ('name="key"', b"main/${filename}"),
                ('name="Content-Type"', b"text/plain"),
                ('name="file"; filename="C:\\\\dir\\\\a\\"b.csv"', b"\r\n--\r\n-- content"),
                ('name="submit"', b"go"),
            ),
            _form(
                ("name=key", "ключ".encode()),
                ("name=file; filename*=utf-8''%e2%82%ac.txt", b"x" * 3000),
                boundary="----WebKitFormBoundary7MA4YWxkTrZu0gW",
            ),
        ),
        (
            *(b"\r\n", b"\r\n--b", b"\r\n--b--", b"--", b"\r\n\r\n", b'name="file"', b'"', b"\\"),
            *(b"boundary=", b'boundary="', b"filename*=utf-8''%ff", b"Content-Disposition:"),
            *(b"${filename}" * 5, b"Content-Type: a\r\n", b"; ", b"\n", b"-", b"--b"),
        ),
    ),
    Target(
        "post_policy",
        check_post_policy,
        lambda: (
            json.dumps(
                {
                    "expiration": "2100-01-01T00:00:00.000Z",
                    "conditions": [
                        {"bucket": "repo"},
                        ["starts-with", "$key", "main/"],
                        ["eq", "$content-type", "text/csv"],
                        ["content-length-range", 0, "1000"],
                        {"x-amz-algorithm": "AWS4-HMAC-SHA256"},
                    ],
                }
            ).encode(),
        ),
        (b"starts-with", b"eq", b"$", b"$key", b"content-length-range", b"0001-01-01T00:00:00Z"),
        JSON,
    ),
)
