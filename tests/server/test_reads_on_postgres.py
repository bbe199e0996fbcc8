"""Objects read through the S3 door of a server on PostgreSQL: small ones are answered in one piece,
from the memory of the machine, others piece by piece; always in the order of the requests.
"""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from anabranch.testing.caller import Caller
from anabranch.testing.s3_client import s3_client
from anabranch.testing.wire import Wire

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


@pytest.fixture(scope="module")
def reading(s3):
    """Makes a request for an object."""

    def request(name):
        url = urlsplit(
            s3.generate_presigned_url(
                "get_object", Params={"Bucket": REPOSITORY, "Key": f"main/{name}"}
            )
        )
        target = f"{url.path}?{url.query}"
        return f"GET {target} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode()

    return request


@pytest.mark.parametrize("name", BODIES)
def test_whole_and_in_part(s3, name):
    answer = s3.get_object(Bucket=REPOSITORY, Key=f"main/{name}")
    assert answer["Body"].read() == BODIES[name]
    assert (answer["ContentLength"], answer["ContentType"]) == (SIZES[name], "text/csv")
    if SIZES[name]:
        part = s3.get_object(Bucket=REPOSITORY, Key=f"main/{name}", Range="bytes=7-99")
        assert part["Body"].read() == BODIES[name][7:100]


def test_one_after_another_on_a_connection(wire, reading):
    for name in (*BODIES, "not-there", *reversed(BODIES)):
        wire.send(reading(name))
        status, _, body = wire.answer()
        assert status == (200 if name in BODIES else 404)
        assert body == BODIES.get(name, body)


def test_many_at_once_come_in_their_order(wire, reading):
    names = ["large", "small", "more", "none", "small", "large", "most"] * 3
    requests = [reading(name) for name in names]
    with ThreadPoolExecutor(1) as pool:
        sending = [pool.submit(wire.send, *requests)]
        sending += [pool.submit(wire.send, request) for request in requests]
        for name in (*names, *names):
            assert wire.answer()[::2] == (200, BODIES[name])
        for sent in sending:
            sent.result()


def test_clients_that_go_away_leave_nothing_open(postgres_server, s3, reading, eventually):
    def opened():
        return len([*Path(f"/proc/{postgres_server.pid}/fd").iterdir()])

    place = urlsplit(postgres_server.url)
    before = opened()
    for _ in range(20):
        with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
            connection.sendall(reading("large"))
    eventually(lambda: opened() <= before)
    assert s3.get_object(Bucket=REPOSITORY, Key="main/small")["Body"].read() == BODIES["small"]
