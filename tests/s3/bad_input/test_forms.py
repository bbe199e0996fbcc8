"""Malformed forms, of which nothing is stored."""

from __future__ import annotations

import base64
import hmac
import json
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from anabranch.s3.payloads.form import MAX_HEAD_BYTES
from anabranch.server.http.dispatcher import BEGIN_SECONDS

BOUNDARY = "b0undary"
TYPE = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
KEY = "main/new"


def part(name, value, extra=""):
    text = value if isinstance(value, bytes) else value.encode()
    head = f'Content-Disposition: form-data; name="{name}"{extra}'
    return f"--{BOUNDARY}\r\n{head}\r\n\r\n".encode() + text + b"\r\n"


def end():
    return f"--{BOUNDARY}--\r\n".encode()


def file(content=b"abc", name="file"):
    return part(name, content, '; filename="a"')


@pytest.fixture
def fields(wire):
    """Signs a policy that takes any key and two more fields."""
    expiration = (datetime.now(UTC) + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        {"bucket": "sea"},
        ["starts-with", "$key", ""],
        ["starts-with", "$x-amz-meta-a", ""],
    ]
    policy = {"expiration": expiration, "conditions": conditions}
    text = base64.b64encode(json.dumps(policy).encode())
    digest = hmac.digest(wire.server.secret_access_key.encode(), text, "sha1")
    return {
        "key": KEY,
        "x-amz-meta-a": "1",
        "AWSAccessKeyId": wire.server.access_key_id,
        "policy": text.decode(),
        "signature": base64.b64encode(digest).decode(),
    }


def form(fields, *rest):
    return b"".join([*(part(name, value) for name, value in fields.items()), *rest])


def request(wire, body, *, path="/sea", headers=TYPE, length=None):
    said = {"Host": "localhost", "Content-Length": str(len(body) if length is None else length)}
    return wire.raw("POST", path, {**said, **headers}, body)


def test_the_form_of_these_tests_is_right(wire, fields):
    reply = wire.send(request(wire, form(fields, file(), end())))
    assert reply.status == 204
    assert wire.send(wire.request("DELETE", f"/sea/{KEY}")).status == 204


@pytest.mark.parametrize(
    "changed",
    [
        {"AWSAccessKeyId": None, "policy": None, "signature": None},
        {"signature": "AAAA"},
        {"AWSAccessKeyId": "AKIANOBODY"},
        {"key": KEY, "policy": None},
        {"signature": None},
        {"x-amz-algorithm": "AWS4-HMAC-SHA256"},
    ],
)
def test_form_with_invalid_signature_stores_nothing(wire, fields, changed):
    kept = {name: value for name, value in {**fields, **changed}.items() if value is not None}
    before = wire.state(), wire.files()
    reply = wire.send(request(wire, form(kept, file(), end())))
    assert reply.status in (400, 403), reply.body
    wire.nothing_came_of_it(before)


def test_proofs_in_headers_do_not_count(wire):
    """A page of another site can have a browser send these along."""
    auth = f"{wire.server.access_key_id}:{wire.server.secret_access_key}".encode()
    basic = {"Authorization": f"Basic {base64.b64encode(auth).decode()}"}
    body = form({"key": KEY}, file(), end())
    wire.refuses(request(wire, body, headers={**TYPE, **basic}), 403, "AccessDenied")
    host = {"Host": "s3.local.lakefs.io"}
    wire.refuses(request(wire, body, headers={**TYPE, **basic, **host}), 403, "AccessDenied")
    signed = wire.request("POST", "/sea", body, TYPE)
    wire.refuses(signed, 403, "AccessDenied")


MALFORMED = [
    (lambda fields: form(fields, file()), "MalformedPOSTRequest"),
    (lambda fields: form(fields, file())[:-2], "MalformedPOSTRequest"),
    (form, "MalformedPOSTRequest"),
    (lambda fields: form(fields, end()), "InvalidArgument"),
    (lambda fields: form(fields, file(name="files"), end()), "InvalidArgument"),
    (lambda fields: form(fields, file(), file(), end()), "InvalidArgument"),
    (lambda _: form({}, file(), part("key", KEY), end()), "AccessDenied"),
    (lambda fields: file() + form(fields, end()), "AccessDenied"),
    (lambda fields: form({**fields, "KEY": "main/other"}, file(), end()), "InvalidArgument"),
    (lambda fields: form({**fields, "key": b"main/\xff"}, file(), end()), "MalformedPOSTRequest"),
    (
        lambda fields: form({**fields, "x-amz-meta-a": "x" * 3000}, file(), end()),
        "MetadataTooLarge",
    ),
    (lambda fields: form({**fields, "more": "1"}, file(), end()), "AccessDenied"),
    (
        lambda fields: form(fields, file(b"a\r\n--" + BOUNDARY.encode() + b"x\r\n"), end()),
        "MalformedPOSTRequest",
    ),
    (
        lambda fields: form(fields, file(), end(), b"x" * (MAX_HEAD_BYTES + 1)),
        "MalformedPOSTRequest",
    ),
    (lambda _: b"", "MalformedPOSTRequest"),
    (lambda _: b"no form at all", "MalformedPOSTRequest"),
    (lambda _: end(), "InvalidArgument"),
    (
        lambda fields: form(
            {name: fields[name] for name in fields if name != "key"}, file(), end()
        ),
        "AccessDenied",
    ),
]


@pytest.mark.parametrize(("made", "code"), MALFORMED)
@pytest.mark.sample(9)
def test_malformed_form_is_rejected(wire, fields, made, code):
    status = 403 if code == "AccessDenied" else 400
    wire.refuses(request(wire, made(fields)), status, code)


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary=""',
        "multipart/form-data; boundary=" + "b" * 300,
        "multipart/form-data; border=b0undary",
    ],
)
def test_forms_without_a_boundary(wire, fields, content_type):
    raw = request(wire, form(fields, file(), end()), headers={"Content-Type": content_type})
    wire.refuses(raw, 400, "MalformedPOSTRequest")


LARGE = [
    lambda fields: form({**fields, "x-amz-meta-a": "x" * MAX_HEAD_BYTES}, file(), end()),
    lambda fields: form({**fields, "x-amz-meta-a": "x" * (5 << 20)}, file(), end()),
    lambda _: form({f"x-ignore-{number}": "" for number in range(5000)}, file(), end()),
    lambda fields: form({**fields, "x" * (15 << 10): "", "y" * (15 << 10): ""}, file(), end()),
    lambda fields: b"p" * (MAX_HEAD_BYTES + 10) + b"\r\n" + form(fields, file(), end()),
]


@pytest.mark.parametrize("made", LARGE)
def test_fields_have_a_limit(wire, fields, made):
    before = wire.state(), wire.files()
    with wire.connect() as connection:
        with suppress(OSError):  # it is not taken to its end
            connection.sendall(request(wire, made(fields)))
        reply = wire.read(connection)
    assert reply.status == 400
    assert b"MaxPostPreDataLengthExceeded" in reply.body
    wire.nothing_came_of_it(before)


def test_a_header_of_a_part_has_a_limit(wire, fields):
    long = part("key", KEY, f'; x="{"x" * (17 << 10)}"')
    wire.refuses(request(wire, long + form(fields, file(), end())), 400, "MalformedPOSTRequest")


def test_names_of_files_that_are_too_long(wire, fields):
    many = {**fields, "x-amz-meta-a": "${filename}" * 1000}
    name = part("file", b"abc", f'; filename="{"n" * 4000}"')
    wire.refuses(request(wire, form(many, name, end())), 400, "KeyTooLongError")


@pytest.mark.parametrize("size", [100, 3 << 20])
@pytest.mark.parametrize("sent", [0.5, 0.99])
def test_uploads_that_are_cut_off(wire, fields, size, sent):
    before = wire.state(), wire.files()
    raw = request(wire, form(fields, file(b"x" * size), end()))
    with wire.connect() as connection:
        connection.sendall(raw[: int(len(raw) * sent)])
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(30)
        assert not connection.recv(1 << 16).startswith(b"HTTP/1.1 2")
    wire.nothing_came_of_it(before)


def test_a_form_that_ends_before_its_length(wire, fields):
    before = wire.state(), wire.files()
    body = form(fields, file(b"x" * (1 << 20)), end())
    with wire.connect() as connection:
        connection.sendall(request(wire, body, length=len(body) + 10))
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(30)
        assert not connection.recv(1 << 16).startswith(b"HTTP/1.1 2")
    wire.nothing_came_of_it(before)


def test_other_posts_to_a_bucket(wire, fields):
    body = form(fields, file(), end())
    text = {"Content-Type": "text/plain"}
    wire.refuses(wire.request("POST", "/sea", body, text), 412, "PreconditionFailed")
    wire.refuses(wire.request("POST", "/sea/main/new", body, TYPE), 405, "MethodNotAllowed")
    wire.refuses(request(wire, body, path="/sea/main/new"), 405, "MethodNotAllowed")
    wire.refuses(request(wire, body, path="/sea?uploads"), 501, "NotImplemented")


def test_no_thread_waits_for_the_fields_of_strangers(wire, fields):
    """More connections than threads stall in the middle of their fields; uploads still succeed."""
    begun = form(fields)[:-40]
    raw = request(wire, begun, length=10 << 20)
    connections = [wire.connect() for _ in range(80)]
    try:
        for connection in connections:
            connection.sendall(raw)
        start = time.monotonic()
        large = form(fields, file(b"x" * (1 << 20)), end())
        assert wire.send(request(wire, large)).status == 204
        assert time.monotonic() - start < BEGIN_SECONDS / 2
        assert wire.send(wire.request("DELETE", f"/sea/{KEY}")).status == 204
    finally:
        for connection in connections:
            connection.close()


def test_fields_that_come_byte_by_byte_are_taken(wire, fields):
    body = form(fields, file(b"x" * (70 << 10)), end())
    raw = request(wire, body)
    head = raw.index(b"\r\n\r\n") + 4
    with wire.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(raw[:head])
        for at in range(head, head + 900, 3):
            connection.sendall(raw[at : at + 3])
        connection.sendall(raw[head + 900 :])
        assert wire.read(connection).status == 204
    assert wire.send(wire.request("DELETE", f"/sea/{KEY}")).status == 204


@pytest.mark.parametrize("size", [10, 100 << 10])
def test_waiting_client_is_asked_to_send_its_form(wire, fields, size):
    body = form(fields, file(b"x" * size), end())
    raw = request(wire, body, headers={**TYPE, "Expect": "100-continue"})
    head = raw.index(b"\r\n\r\n") + 4
    with wire.connect() as connection:
        connection.sendall(raw[:head])
        connection.settimeout(30)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100 ")
        connection.sendall(raw[head:])
        assert wire.read(connection).status == 204
    assert wire.send(wire.request("DELETE", f"/sea/{KEY}")).status == 204


@pytest.mark.parametrize("size", [10, 100 << 10])
def test_a_form_may_be_sent_in_chunks(wire, fields, size):
    body = form(fields, file(b"x" * size), end())
    chunks = [body[at : at + 7000] for at in range(0, len(body), 7000)]
    sent = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])
    headers = {"Host": "localhost", "Transfer-Encoding": "chunked", **TYPE}
    assert wire.send(wire.raw("POST", "/sea", headers, sent)).status == 204
    assert wire.send(wire.request("DELETE", f"/sea/{KEY}")).status == 204
