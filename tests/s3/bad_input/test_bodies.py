"""Bodies that are not what their requests say of them: too long, too short, damaged."""

from __future__ import annotations

import base64
import hashlib
import socket
import time

import pytest
from support.clients.s3_uploads import SIGNED, SIGNED_TRAILER, UNSIGNED_TRAILER, checksum

from anabranch.signing.chunk_signatures import ChunkSignatures

NEW = "/sea/main/new"
TEA = "/sea/main/abc"
BODY = b"green abc " * 2000
KINDS = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"]


def md5(body):
    return base64.b64encode(hashlib.md5(body).digest()).decode()


@pytest.mark.parametrize("path", [NEW, TEA])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(5)
def test_a_wrong_checksum(wire, kind, path):
    headers = {f"x-amz-checksum-{kind}": checksum(kind, b"other")}
    wire.refuses(wire.request("PUT", path, BODY, headers), 400, "BadDigest")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "no base64!", "AAAA", "A" * 1000])
@pytest.mark.sample(3)
def test_a_checksum_that_is_none(wire, kind, text):
    raw = wire.request("PUT", NEW, BODY, {f"x-amz-checksum-{kind}": text})
    wire.refuses(raw, 400, "InvalidRequest")


def test_checksums_of_unknown_kinds_and_of_two_kinds(wire):
    raw = wire.request("PUT", NEW, BODY, {"x-amz-checksum-xxhash64": "AAAA"})
    wire.refuses(raw, 400, "InvalidRequest")
    two = {f"x-amz-checksum-{kind}": checksum(kind, BODY) for kind in KINDS[:2]}
    wire.refuses(wire.request("PUT", NEW, BODY, two), 400, "InvalidRequest")
    raw = wire.request("PUT", NEW, BODY, {"x-amz-sdk-checksum-algorithm": "CRC32"})
    wire.refuses(raw, 400, "InvalidRequest")


@pytest.mark.parametrize("path", [NEW, TEA])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (md5(b"other"), "BadDigest"),
        (md5(BODY)[:-2], "InvalidDigest"),
        ("nonsense", "InvalidDigest"),
        (hashlib.md5(BODY).hexdigest(), "InvalidDigest"),
        ("", "InvalidDigest"),
    ],
)
@pytest.mark.sample(5)
def test_content_md5(wire, path, text, code):
    wire.refuses(wire.request("PUT", path, BODY, {"Content-MD5": text}), 400, code)


def test_content_md5_of_a_document(wire):
    body = b"<Delete><Object><Key>main/abc</Key></Object></Delete>"
    raw = wire.request("POST", "/sea?delete=", body, {"Content-MD5": md5(b"other")})
    wire.refuses(raw, 400, "BadDigest")


def test_no_length(wire):
    for method, path in (("PUT", NEW), ("POST", "/sea?delete=")):
        lacking = wire.request(method, path, b"", then={"Content-Length": None})
        wire.refuses(lacking, 411, "MissingContentLength")


SENT_CHUNKED = {"Content-Length": None, "Transfer-Encoding": "chunked"}


def test_a_transfer_in_chunks_whose_digest_is_another(wire):
    digest = hashlib.sha256(b"other").hexdigest()
    raw = wire.request("PUT", NEW, b"3\r\ntea\r\n0\r\n\r\n", payload=digest, then=SENT_CHUNKED)
    wire.refuses(raw, 400, "XAmzContentSHA256Mismatch")


def test_a_transfer_in_chunks_that_is_cut_off(wire):
    before = wire.state(), wire.files()
    digest = hashlib.sha256(b"abc").hexdigest()
    raw = wire.request("PUT", NEW, b"3\r\ntea\r\n", payload=digest, then=SENT_CHUNKED)
    with wire.connect() as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1 << 16).partition(b" ")[2][:3] != b"200"
    wire.nothing_came_of_it(before)


def test_a_document_in_chunks(wire):
    raw = wire.request(
        "POST",
        "/sea?delete=",
        b"3\r\ntea\r\n0\r\n\r\n",
        payload="UNSIGNED-PAYLOAD",
        then=SENT_CHUNKED,
    )
    wire.refuses(raw, 400, "MalformedXML")


def chunked(wire, word, *, decoded=None, size=8192, trailer="", damage=None, path=NEW):
    """Returns an upload in chunks; `damage` changes the body as it is sent."""
    headers = {
        "Content-Encoding": "aws-chunked",
        "x-amz-decoded-content-length": str(len(BODY)) if decoded is None else decoded,
    }
    if trailer:
        headers["x-amz-trailer"] = f"x-amz-checksum-{trailer}"
    now = time.time()
    chain = ChunkSignatures(wire.sign("PUT", path, headers, payload=word, at=now).seed)
    signed = word != UNSIGNED_TRAILER
    wire_body = b""
    for at in range(0, len(BODY) + size, size):
        data = BODY[at : at + size]
        extension = ""
        if signed:
            extension = f";chunk-signature={chain.next(hashlib.sha256(data).hexdigest())}"
        wire_body += f"{len(data):x}{extension}\r\n".encode()
        if not data:
            break
        wire_body += data + b"\r\n"
    if trailer:
        line = f"x-amz-checksum-{trailer}:{checksum(trailer, BODY)}"
        wire_body += f"{line}\r\n".encode()
        if signed:
            signature = chain.trailer(f"{line}\n".encode())
            wire_body += f"x-amz-trailer-signature:{signature}\r\n".encode()
    wire_body += b"\r\n"
    sent = wire_body if damage is None else damage(wire_body)
    return wire.request("PUT", path, b"", headers, payload=word, sent=sent, at=now)


SIGNED_FORMS = [(SIGNED, ""), (SIGNED_TRAILER, "crc32c")]
FORMS = [*SIGNED_FORMS, (UNSIGNED_TRAILER, "crc64nvme")]


@pytest.mark.parametrize(("word", "trailer"), FORMS)
def test_chunks_that_are_right_are_taken(wire, word, trailer):
    reply = wire.send(chunked(wire, word, trailer=trailer, path="/sea/right/ok"))
    assert (reply.status, b"NoSuchBucket" in reply.body) == (404, True)
    made = wire.api.post("/repositories/sea/branches", json={"name": "right", "source": "main"})
    assert made.is_success
    reply = wire.send(chunked(wire, word, trailer=trailer, path="/sea/right/ok"))
    assert reply.status == 200, reply.body
    read = {"path": "ok"}
    assert wire.api.get("/repositories/sea/refs/right/objects", params=read).content == BODY
    assert wire.api.delete("/repositories/sea/branches/right").is_success


def flip(body, at):
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


@pytest.mark.parametrize(("word", "trailer"), SIGNED_FORMS)
@pytest.mark.parametrize("place", ["data", "first signature", "last data", "last signature"])
def test_a_damaged_chunk(wire, word, trailer, place):
    def damage(body):
        last = body.rindex(b"\r\n0;chunk-signature=")
        places = {
            "data": body.index(b"green"),
            "first signature": body.index(b"signature=") + 12,
            "last data": last - 3,
            "last signature": last + 30,
        }
        return flip(body, places[place])

    raw = chunked(wire, word, trailer=trailer, damage=damage)
    wire.refuses(raw, 403, "SignatureDoesNotMatch")


def test_chunks_in_another_order_and_one_left_out(wire):
    def swapped(body):
        head = len(b"2000;chunk-signature=") + 64 + 2
        step = head + 8192 + 2
        return body[step : 2 * step] + body[:step] + body[2 * step :]

    def without_the_last(body):
        return body[: body.rindex(b"\r\n0;") + 2]

    def without_the_first(body):
        return body[len(b"2000;chunk-signature=") + 64 + 2 + 8192 + 2 :]

    wire.refuses(chunked(wire, SIGNED, damage=swapped), 403, "SignatureDoesNotMatch")
    wire.refuses(chunked(wire, SIGNED, damage=without_the_first), 403, "SignatureDoesNotMatch")
    wire.refuses(chunked(wire, SIGNED, damage=without_the_last), 400, "IncompleteBody")


@pytest.mark.parametrize(("word", "trailer"), FORMS)
@pytest.mark.parametrize(
    ("decoded", "code"),
    [
        (str(len(BODY) + 1), "IncompleteBody"),
        (str(len(BODY) - 1), "InvalidChunkSizeError"),
        ("many", "MissingContentLength"),
        ("-1", "MissingContentLength"),
        ("9" * 30, "MissingContentLength"),
    ],
)
@pytest.mark.sample(8)
def test_a_wrong_decoded_length(wire, word, trailer, decoded, code):
    raw = chunked(wire, word, trailer=trailer, decoded=decoded)
    wire.refuses(raw, 411 if code == "MissingContentLength" else 400, code)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b"2000\r\n", b"x000\r\n", "InvalidChunkSizeError"),
        (b"2000\r\n", b"-200\r\n", "InvalidChunkSizeError"),
        (b"2000\r\n", b"F" * 17 + b"\r\n", "InvalidChunkSizeError"),
        (b"2000\r\n", b"1fff\r\n", "IncompleteBody"),
        (b"2000\r\n", b"0" * 20_000 + b"\r\n", "IncompleteBody"),
        (b"crc64nvme:", b"crc32:", "MalformedTrailerError"),
        (b"x-amz-checksum-crc64nvme:", b"nothing", "MalformedTrailerError"),
        (b"crc64nvme:", b"crc64nvme:AAAA", "InvalidRequest"),
    ],
)
@pytest.mark.sample(4)
def test_damaged_framing(wire, old, new, code):
    raw = chunked(
        wire,
        UNSIGNED_TRAILER,
        trailer="crc64nvme",
        damage=lambda body: body.replace(old, new, 1),
    )
    wire.refuses(raw, 400, code)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_trailing_checksum(wire, kind):
    wrong = checksum(kind, b"other").encode()
    right = checksum(kind, BODY).encode()
    raw = chunked(
        wire, UNSIGNED_TRAILER, trailer=kind, damage=lambda body: body.replace(right, wrong)
    )
    wire.refuses(raw, 400, "BadDigest")


def test_a_trailer_that_is_not_announced_or_not_known(wire):
    def adding(body):
        return body[:-2] + b"x-amz-checksum-crc32:AAAAAA==\r\n\r\n"

    wire.refuses(chunked(wire, UNSIGNED_TRAILER, damage=adding), 400, "MalformedTrailerError")
    headers = {"x-amz-decoded-content-length": "3", "x-amz-trailer": "x-amz-checksum-other"}
    raw = wire.request(
        "PUT", NEW, b"", headers, payload=UNSIGNED_TRAILER, sent=b"3\r\ntea\r\n0\r\n"
    )
    wire.refuses(raw, 400, "InvalidRequest")


@pytest.mark.parametrize("word", ["nonsense", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "a" * 63])
def test_an_unknown_word_for_the_body(wire, word):
    raw = wire.request("PUT", NEW, BODY, payload=word)
    wire.refuses(raw, 400, "InvalidArgument")


@pytest.mark.parametrize("sent", [0, 1, 1000, 1_500_000])
@pytest.mark.parametrize("path", [NEW, TEA])
@pytest.mark.sample(1)
def test_a_client_that_stops_in_the_middle_leaves_nothing(wire, path, sent):
    """No answer can reach it; nothing is visible, and no file is left."""
    before = wire.state(), wire.files()
    then = {"Content-Length": "3000000"}
    raw = wire.request("PUT", path, payload="UNSIGNED-PAYLOAD", sent=b"x" * sent, then=then)
    with wire.connect() as connection:
        connection.sendall(raw)
        time.sleep(0.1)
    wire.nothing_came_of_it(before)


def test_a_client_that_stops_in_the_middle_of_chunks_leaves_nothing(wire):
    before = wire.state(), wire.files()
    raw = chunked(wire, SIGNED)
    for cut in (len(raw) - 3, len(raw) - 200, len(raw) // 2):
        with wire.connect() as connection:
            connection.sendall(raw[:cut])
            time.sleep(0.1)
    wire.nothing_came_of_it(before)


def test_a_client_that_stops_in_a_document_deletes_nothing(wire):
    before = wire.state(), wire.files()
    raw = wire.request("POST", "/sea?delete=", b"<Delete><Object><Key>main/abc</Key></Object></De")
    with wire.connect() as connection:
        connection.sendall(raw[:-2])
        time.sleep(0.1)
    wire.nothing_came_of_it(before)


@pytest.mark.parametrize("length", [4, 1 << 20])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", NEW),
        ("PUT", f"{NEW}?tagging="),
        ("PUT", f"{NEW}?partNumber=1&uploadId=x"),
        ("POST", f"{NEW}?uploadId=x"),
        ("PUT", "/new-bucket"),
    ],
)
def test_continue_is_not_sent_before_the_signature_is_verified(wire, method, path, length):
    then = {"Content-Length": str(length), "Expect": "100-continue"}
    raw = wire.request(method, path, sent=b"", then=then, secret="wrong")
    with wire.connect() as connection:
        connection.sendall(raw)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 403 ")
