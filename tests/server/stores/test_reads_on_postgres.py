"""Objects read through either gateway of a server on PostgreSQL: small ones are answered in one
piece, from the memory of the machine, others piece by piece; always in the order of the requests.
"""

from __future__ import annotations

import os
import socket
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.clients.no_retry_client import Caller
from support.clients.raw_connection import Wire
from support.clients.s3_client import s3_client

REPOSITORY = "reads-on-postgres"
SIZES = {"none": 0, "small": 1000, "most": 256 << 10, "more": (256 << 10) + 1, "large": 5 << 20}
BODIES = {name: os.urandom(size) for name, size in SIZES.items()}


@pytest.fixture(scope="module")
def s3(postgres_server):
    client = s3_client(postgres_server, retries={"total_max_attempts": 1})
    Caller(postgres_server).make_repository(REPOSITORY)
    for name, body in BODIES.items():
        client.put_object(Bucket=REPOSITORY, Key=f"main/{name}", Body=body, ContentType="text/csv")
    return client


@pytest.fixture
def wire(postgres_server):
    place = urlsplit(postgres_server.url)
    connection = socket.create_connection((place.hostname, place.port), timeout=60)
    with closing(Wire(connection)) as wire:
        yield wire


@pytest.fixture(scope="module", params=["s3", "api"])
def reading(request, s3, postgres_server):
    """Returns a function that makes a request for an object, or a part of it."""
    token = b64encode(":".join(postgres_server.auth).encode()).decode()

    def target(name):
        if request.param == "api":
            return f"/api/v1/repositories/{REPOSITORY}/refs/main/objects?path={name}"
        params = {"Bucket": REPOSITORY, "Key": f"main/{name}"}
        url = urlsplit(s3.generate_presigned_url("get_object", Params=params))
        return f"{url.path}?{url.query}"

    def read(name, part=""):
        lines = [
            f"GET {target(name)} HTTP/1.1",
            f"Host: {urlsplit(postgres_server.url).netloc}",
            *([f"Authorization: Basic {token}"] if request.param == "api" else []),
            *([f"Range: bytes={part}"] if part else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    return read


@pytest.mark.parametrize("name", BODIES)
def test_whole_and_in_part(wire, reading, name):
    wire.send(reading(name))
    status, headers, body = wire.read_response()
    assert (status, body) == (200, BODIES[name])
    assert headers["content-length"] == str(SIZES[name])
    assert headers["content-type"] == "text/csv"
    for part, start in (("7-99", 7), ("0-299999", 0)) if SIZES[name] else ():
        wire.send(reading(name, part))
        status, _, body = wire.read_response()
        assert (status, body) == (206, BODIES[name][start : int(part.split("-")[1]) + 1])


def test_sequential_requests_on_one_connection(wire, reading):
    for name in (*BODIES, "not-there", *reversed(BODIES)):
        wire.send(reading(name))
        status, _, body = wire.read_response()
        assert status == (200 if name in BODIES else 404)
        assert body == BODIES.get(name, body)


def test_pipelined_requests_get_responses_in_order(wire, reading):
    names = ["large", "small", "more", "none", "small", "large", "most"] * 3
    requests = [reading(name) for name in names]
    with ThreadPoolExecutor(1) as pool:
        sending = [pool.submit(wire.send, *requests)]
        sending += [pool.submit(wire.send, request) for request in requests]
        for name in (*names, *names):
            assert wire.read_response()[::2] == (200, BODIES[name])
        for sent in sending:
            sent.result()


def test_disconnected_clients_leave_no_open_connections(postgres_server, s3, reading, eventually):
    def opened():
        return len([*Path(f"/proc/{postgres_server.pid}/fd").iterdir()])

    place = urlsplit(postgres_server.url)
    before = opened()
    for _ in range(20):
        with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
            connection.sendall(reading("large"))
    eventually(lambda: opened() <= before)
    assert s3.get_object(Bucket=REPOSITORY, Key="main/small")["Body"].read() == BODIES["small"]
