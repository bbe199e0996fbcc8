"""Uploads in signed chunks over the wire: the whole way from the request's signature to the last
trailing header, and each damaged in one place.
"""

from __future__ import annotations

import hashlib
import http.client
import random
import time
from urllib.parse import urlsplit

import pytest
from support.clients.s3_uploads import SIGNED, SIGNED_TRAILER, checksum

from anabranch.model.secret import Secret
from anabranch.signing.chunk_signatures import ChunkSignatures
from anabranch.signing.sign import SigningCredentials, sign_request

BODY = random.Random(11).randbytes(200_000)
SIZE = 65536


def chunked(server, key, trailer):
    """Returns the headers and the pieces of the body of an upload."""
    headers = {"x-amz-decoded-content-length": str(len(BODY)), "Content-Encoding": "aws-chunked"}
    if trailer:
        headers["x-amz-trailer"] = f"x-amz-checksum-{trailer}"
    signed = sign_request(
        SigningCredentials(server.access_key_id, Secret(server.secret_access_key), "us-east-1"),
        "PUT",
        f"{server.url}{key}",
        headers,
        time=time.time(),
        payload=SIGNED_TRAILER if trailer else SIGNED,
    )
    chain = ChunkSignatures(signed.seed)
    pieces = []
    for at in range(0, len(BODY) + SIZE, SIZE):
        data = BODY[at : at + SIZE]
        signature = chain.next(hashlib.sha256(data).hexdigest())
        pieces.append(f"{len(data):x};chunk-signature={signature}\r\n".encode() + data)
        pieces[-1] += b"\r\n" if data else b""
    if trailer:
        line = f"x-amz-checksum-{trailer}:{checksum(trailer, BODY)}"
        signature = chain.trailer(f"{line}\n".encode())
        pieces.append(f"{line}\r\nx-amz-trailer-signature:{signature}\r\n".encode())
    return signed.headers, [*pieces, b"\r\n"]


@pytest.fixture
def put(server):
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)

    def send(key, headers, body):
        headers = {**headers, "Content-Length": str(len(body))}
        connection.request("PUT", key, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, text.partition("<Code>")[2].partition("<")[0]

    yield send
    connection.close()


@pytest.mark.parametrize("trailer", [None, "crc32", "crc32c", "crc64nvme", "sha1", "sha256"])
def test_fully_signed_chunked_upload_is_stored(server, s3, bucket, put, trailer):
    headers, pieces = chunked(server, f"/{bucket}/main/a", trailer)
    assert put(f"/{bucket}/main/a", headers, b"".join(pieces)) == (200, "")
    got = s3.get_object(Bucket=bucket, Key="main/a")
    assert got["Body"].read() == BODY
    assert got["ResponseMetadata"]["HTTPHeaders"].get("content-encoding") is None


@pytest.mark.parametrize("trailer", [None, "crc32"])
def test_damaged_in_one_place_nothing_is_stored(server, s3, bucket, put, trailer):
    chance = random.Random(13)
    key = f"/{bucket}/main/a"
    for number in range(len(chunked(server, key, trailer)[1]) - 1):
        headers, pieces = chunked(server, key, trailer)
        piece = bytearray(pieces[number])
        # the last byte before CR LF: of data, of a signature, of the signature of the trailer
        at = len(piece.rstrip(b"\r\n")) - 1
        piece[at] ^= 1 << chance.randrange(4)
        pieces[number] = bytes(piece)
        status, code = put(key, headers, b"".join(pieces))
        assert (status, code) == (403, "SignatureDoesNotMatch"), number
    headers, pieces = chunked(server, key, trailer)
    assert put(f"/{bucket}/main/b", headers, b"".join(pieces))[0] == 403
    dropped = [pieces[0], *pieces[2:]]
    assert put(key, headers, b"".join(dropped))[0] in {400, 403}
    exchanged = [pieces[1], pieces[0], *pieces[2:]]
    assert put(key, headers, b"".join(exchanged)) == (403, "SignatureDoesNotMatch")
    assert "Contents" not in s3.list_objects_v2(Bucket=bucket, Prefix="main/")
