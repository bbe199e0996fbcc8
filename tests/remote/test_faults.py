"""Broken connections, busy servers and time limits, by scripted responses."""

from __future__ import annotations

import re
import socket
from base64 import urlsafe_b64encode

import pytest
from support.faults.scripted_socket import ScriptedSocket, answer

import anabranch
from anabranch.client.retry_policy import RetryPolicy
from anabranch.errors import Busy, Invalid, NotSupported, OutcomeUnknown
from anabranch.model.objects.batch import FRAME_HEADER, FrameState

COMMIT = (
    b'{"id":"c1","committer":"me","message":"m","creation_date":1,"meta_range_id":"t",'
    b'"parents":[],"metadata":{},"version":1,"generation":1}'
)
REPOSITORY = b'{"id":"sea","storage_namespace":"n","default_branch":"main","creation_date":1}'
STATS = (
    b'{"path":"a","path_type":"object","physical_address":"local://a","checksum":"e","mtime":1,'
    b'"size_bytes":%d}'
)
OK = answer("200 OK", REPOSITORY)
BUSY = answer("503 Busy", b'{"message":"busy"}', "Retry-After: 0")
UNKNOWN = answer("503 Busy", b'{"message":"lost"}', "X-Anabranch-Kind: outcome_unknown")
BROKEN = answer("200 OK", b'{"id"', length=500)


@pytest.fixture
def script(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    opened = []

    def start(*answers, **options):
        server = ScriptedSocket(answers)
        lake = anabranch.connect(server.url, "key", "secret", **options)
        lake._client._retries = RetryPolicy(3)
        lake._client._sleep = lambda _: None
        opened.append((server, lake))
        return server, lake

    yield start
    for server, lake in opened:
        lake.close()
        server.close()


def keys_of(server):
    found = [re.search(rb"Idempotency-Key: ([\w-]{36})\r\n", each) for each in server.requests]
    return [match and match[1] for match in found]


def test_a_busy_server_is_asked_again(script):
    server, lake = script(BUSY, BUSY, OK)
    assert lake.repositories.get("sea").id == "sea"
    assert len(server.requests) == 3
    server, lake = script(BUSY, BUSY, BUSY)
    with pytest.raises(Busy, match=r"^busy$"):
        lake.repositories.get("sea")


def test_a_keyed_change_is_repeated_with_its_key(script):
    server, lake = script(OK, b"", UNKNOWN, answer("201 Created", COMMIT))
    lake.repositories.get("sea")  # a server that never responded is not asked again
    assert lake.commits.commit("sea", "main", message="m").id == "c1"
    _, *keys = keys_of(server)
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert keys[0]
    assert len(set(server.requests[1:])) == 1


def test_each_change_has_a_key_of_its_own(script):
    server, lake = script(*[answer("201 Created", COMMIT)] * 2)
    for _ in range(2):
        lake.commits.commit("sea", "main", message="m")
    first, second = keys_of(server)
    assert first != second


def test_a_change_without_a_key_is_sent_once(script):
    server, lake = script(OK, b"")
    lake.repositories.get("sea")
    with pytest.raises(OutcomeUnknown):
        lake.repositories.create("lake-1", "local://lake-1")
    assert len(server.requests) == 2
    server, lake = script(OK, UNKNOWN)
    lake.repositories.get("sea")
    with pytest.raises(OutcomeUnknown, match="lost"):
        lake.branches.reset("sea", "main", "reset")
    assert len(server.requests) == 2


def test_an_upload_is_repeated_if_its_chunks_can_be_read_again(script):
    created = answer("201 Created", STATS % 5)
    server, lake = script(OK, b"", created)
    lake.repositories.get("sea")
    lake.objects.upload("sea", "main", "a", [b"hel", b"lo"])
    assert [request.endswith(b"\r\nhello") for request in server.requests[1:]] == [True, True]
    for options in ({"if_absent": True}, {}):
        chunks = [b"hel", b"lo"] if options else iter([b"hel", b"lo"])
        server, lake = script(OK, b"")
        lake.repositories.get("sea")
        with pytest.raises(OutcomeUnknown):
            lake.objects.upload("sea", "main", "a", chunks, **options)
        assert len(server.requests) == 2


def pinned(body, start, size, *headers):
    properties = urlsafe_b64encode(STATS % size).decode()
    return answer(
        "206 Partial Content",
        body,
        f"Content-Range: bytes {start}-{size - 1}/{size}",
        'ETag: "e"',
        "X-Anabranch-Version: v1",
        f"X-Anabranch-Object: {properties}",
        *headers,
    )


def framed(*contents):
    return b"".join(FRAME_HEADER.pack(FrameState.CONTENT, len(each)) + each for each in contents)


def test_objects_that_are_read_together_are_of_one_moment(script):
    """The branch moves after the response that breaks off."""
    before, after = framed(b"old a", b"old b"), framed(b"new a", b"new b")
    broken = answer("200 OK", before[:-7], length=len(before))
    server, lake = script(broken, answer("200 OK", after))
    assert lake.objects.read_many("sea", "main", ["a", "b"]) == [b"new a", b"new b"]
    assert all(b'["a","b"]' in each for each in server.requests)
    server, lake = script(*[broken] * 5)
    with pytest.raises(Busy):
        lake.objects.read_many("sea", "main", ["a", "b"])


def test_an_object_that_claims_more_than_a_response_has_is_not_read(script):
    claim = FRAME_HEADER.pack(FrameState.CONTENT, 1 << 40) + b"endless"
    server, lake = script(answer("200 OK", claim, length=1 << 40))
    with pytest.raises(Invalid) as refused:
        lake.objects.read_many("sea", "main", ["a"])
    assert refused.value.kind == "not_a_server"
    assert len(server.requests) == 1


def test_a_download_that_breaks_off_goes_on_where_it_stopped(script):
    size = 300_000
    content = bytes(range(250)) * 1200
    first = content[: 128 << 10]
    broken = answer("206 Partial Content", content[len(first) : 200_000], length=size - len(first))
    rest = answer("206 Partial Content", content[200_000:])
    server, lake = script(pinned(first, 0, size), broken, rest)
    opened = lake.objects.open("sea", "main", "a")
    assert opened.read_bytes() == content
    ranges = [re.search(rb"Range: bytes=(\d+)-", each)[1] for each in server.requests]
    assert ranges == [b"0", b"131072", b"200000"]
    assert all(b"version=v1" in each for each in server.requests[1:])


def test_a_download_that_ends_early_again_and_again_fails(script):
    size = 300_000
    empty = answer("206 Partial Content", b"", length=size)
    _, lake = script(pinned(b"x" * (128 << 10), 0, size), *[empty] * 5)
    opened = lake.objects.open("sea", "main", "a")
    with pytest.raises(Busy):
        opened.read_bytes()


def test_a_server_without_versions_is_refused(script):
    _, lake = script(answer("206 Partial Content", b"1", 'ETag: "e"'))
    with pytest.raises(NotSupported) as refused:
        lake.objects.open("sea", "main", "a")
    assert refused.value.kind == "unsupported_by_server"


def test_a_response_that_is_not_a_servers_is_named(script):
    _, lake = script(answer("200 OK", b"[]"), BROKEN, answer("200 OK", b"{}"))
    with pytest.raises(Invalid) as refused:
        lake.repositories.get("sea")
    assert refused.value.kind == "not_a_server"
    with pytest.raises(Busy):
        lake.repositories.get("sea")
    with pytest.raises(Invalid):
        lake.objects.listing("sea", "main", amount=1)


def test_a_server_that_sends_nothing_is_given_up(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with anabranch.connect(url, "key", "secret", timeout=0.2) as lake:
            with pytest.raises(Busy, match="timed out"):
                lake.repositories.get("sea")
            with pytest.raises(OutcomeUnknown, match="timed out"):
                lake.repositories.create("lake-1", "local://lake-1")


def test_amounts_below_one_are_refused(script):
    _, lake = script()
    for amount in (0, -1):
        with pytest.raises(Invalid, match="at least 1"):
            lake.branches.list("sea", amount=amount)
        with pytest.raises(Invalid, match="at least 1"):
            lake.refs.diff_rows("sea", "main", "dev", "a.csv", amount=amount)


def test_a_content_type_that_no_header_can_have_is_refused(script):
    server, lake = script()
    for content_type in ("text/ü", "a\r\nX-Evil: 1"):
        with pytest.raises(Invalid) as refused:
            lake.objects.upload("sea", "main", "a", [b"1"], content_type=content_type)
        assert refused.value.kind == "invalid_content_type"
    assert server.requests == []
