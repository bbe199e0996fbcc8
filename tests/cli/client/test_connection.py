"""The HTTP client with failing connections, against a scripted socket."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import formatdate

import pytest
from support.faults.scripted_socket import ScriptedSocket, answer

from anabranch.cli.client.connection import Connection
from anabranch.cli.errors import Failure, Usage
from anabranch.client.retry_policy import DEFAULT_RETRIES
from anabranch.client.settings import Settings


@pytest.fixture
def play() -> Iterator:
    scripts = []
    waits: list[float] = []

    def start(*answers: bytes):
        script = ScriptedSocket(answers)
        settings = Settings(script.url, "key", "secret", {})
        connection = Connection(settings, {}, sleep=waits.append)
        scripts.append((script, connection))
        return script, connection, waits

    yield start
    for script, connection in scripts:
        connection.close()
        script.close()


def fail(do) -> Failure:
    with pytest.raises(Failure) as caught:
        do()
    return caught.value


def upload(connection, *, repeatable=True):
    return connection.upload(
        "x",
        content=lambda: iter([b"ab", b"cd"]),
        size=4 if repeatable else None,
        content_type="text/plain",
        repeatable=repeatable,
    )


def test_a_request_says_who_and_where(play):
    script, connection, _ = play(answer("200 OK", b'{"a": 1}'))
    assert connection.get("refs", "a b/c%~", path="é&x") == {"a": 1}
    head = script.requests[0].decode()
    # a name with a percent sign is quoted twice, because servers decode it twice
    assert head.startswith("GET /api/v1/refs/a%2520b%252Fc%2525~?path=%C3%A9%26x HTTP/1.1")
    assert "Authorization: Basic a2V5OnNlY3JldA==" in head
    assert "X-Lakefs-Client: anabranch" in head


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_busy_server_is_asked_again_when_it_says(play, status):
    script, connection, waits = play(
        answer(status, b"{}", "Retry-After: 7"), answer(status), answer("200 OK", b'{"a": 1}')
    )
    assert connection.send("POST", "x", body={"b": 2}) == {"a": 1}
    assert waits[0] == 7.0
    assert 0 < waits[1] <= 1.6
    assert [request.partition(b"\r\n\r\n")[2] for request in script.requests] == [b'{"b": 2}'] * 3


def test_a_date_to_come_back_at(play):
    date = f"Retry-After: {formatdate(usegmt=True)}"
    _, connection, waits = play(answer("503 Busy", b"{}", date), answer("200 OK"))
    assert connection.get("x") == {}
    assert waits == [0.0]


def test_patience_ends(play):
    _, connection, waits = play(
        *[answer("503 Busy", b'{"message": "slow down"}')] * DEFAULT_RETRIES.attempts
    )
    failure = fail(lambda: connection.get("x"))
    assert (failure.message, failure.kind, failure.status) == ("slow down", "busy", 503)
    assert len(waits) == DEFAULT_RETRIES.attempts - 1
    assert waits == sorted(waits)


def test_other_refusals_are_not_repeated(play):
    script, connection, waits = play(answer("500 Oops", b'{"message": "no"}'))
    assert fail(lambda: connection.get("x")).kind == "server_error"
    assert (len(script.requests), waits) == (1, [])


def test_uploads_are_sent_again_from_their_beginning(play):
    script, connection, _ = play(answer("503 Busy"), answer("201 Created", b'{"path": "p"}'))
    assert upload(connection) == {"path": "p"}
    assert [request[-4:] for request in script.requests] == [b"abcd"] * 2
    assert b"Content-Length: 4" in script.requests[0]


def test_a_stream_cannot_be_sent_again(play):
    script, connection, waits = play(answer("503 Busy"))
    assert fail(lambda: upload(connection, repeatable=False)).kind == "busy"
    assert script.requests[0].endswith(b"\r\n\r\nabcd")
    assert (len(script.requests), waits) == (1, [])


def test_a_connection_that_breaks_is_tried_again_where_that_is_harmless(play):
    _, connection, waits = play(answer("200 OK"), b"", answer("200 OK", b'{"a": 1}'), b"")
    connection.get("x")
    assert connection.get("x") == {"a": 1}
    assert len(waits) == 1
    failure = fail(lambda: connection.send("POST", "x", body={}))
    assert failure.kind == "unreachable"
    assert "broke" in failure.message
    assert len(waits) == 1


def test_a_server_that_never_answered_is_not_waited_for(play):
    script, connection, waits = play()
    script.close()
    failure = fail(lambda: connection.get("x"))
    assert failure.message.startswith(f"cannot reach {script.url}")
    assert waits == []


def test_a_body_that_ends_early_is_an_error(play):
    _, connection, _ = play(answer("200 OK", b"abc", length=10), answer("200 OK", b"{", length=9))

    def read():
        with connection.download("x") as content:
            list(content.chunks)

    assert fail(read).kind == "unreachable"
    assert fail(lambda: connection.get("x")).kind == "unreachable"


def test_answers_of_other_programs(play):
    page = answer("200 OK", b"<html>").replace(b"application/json", b"text/html")
    _, connection, _ = play(page, answer("200 OK", b"nonsense"), answer("302 Found", b""))
    for _ in range(2):
        failure = fail(lambda: connection.get("x"))
        assert failure.kind == "not_a_server"
        assert "config show" in failure.hint
    assert "redirects to" in fail(lambda: connection.get("x")).message


def test_downloads_are_not_decompressed(play):
    script, connection, _ = play(answer("200 OK", b"\x1f\x8bzip", "Content-Encoding: gzip"))
    with connection.download("x") as content:
        assert content.size == 5
        assert b"".join(content.chunks) == b"\x1f\x8bzip"
    assert b"Accept-Encoding: identity" in script.requests[0]


def test_listings_are_fetched_page_by_page(play):
    def page(names: str, following: str) -> bytes:
        results = ", ".join(f'{{"id": "{name}"}}' for name in names)
        more = str(bool(following)).lower()
        text = (
            f'{{"results": [{results}], '
            f'"pagination": {{"has_more": {more}, "next_offset": "{following}"}}}}'
        )
        return answer("200 OK", text.encode())

    script, connection, _ = play(page("ab", "b"), page("cd", "d"), page("ef", ""), page("ab", "b"))
    pages = connection.pages("x", prefix=None, delimiter="/")
    items = iter(pages)
    assert next(items) == {"id": "a"}
    assert len(script.requests) == 1
    assert [item["id"] for item in items] == list("bcdef")
    assert pages.next_offset == ""
    lines = [request.split(b" ")[1].decode() for request in script.requests]
    assert lines == [
        "/api/v1/x?delimiter=%2F&amount=1000",
        "/api/v1/x?delimiter=%2F&amount=1000&after=b",
        "/api/v1/x?delimiter=%2F&amount=1000&after=d",
    ]
    few = connection.pages("x", amount=2)
    assert [item["id"] for item in few] == ["a", "b"]
    assert few.next_offset == "b"
    assert b"?amount=2 " in script.requests[3]


@pytest.mark.parametrize("pieces", [[b"abc"], [b"abc", b"defg"]])
def test_a_file_that_changes_under_the_upload_is_refused(play, pieces):
    _, connection, _ = play(answer("201 Created"))
    failure = fail(
        lambda: connection.upload(
            "x", content=lambda: iter(pieces), size=4, content_type="a/b", repeatable=True
        )
    )
    assert failure.message == "the file changed while it was being read"


def test_a_file_that_cannot_be_read_is_not_blamed_on_the_server(play, tmp_path):
    _, connection, _ = play(answer("201 Created"))

    def content():
        yield (tmp_path / "missing").read_bytes()

    failure = fail(
        lambda: connection.upload("x", content=content, size=4, content_type="a/b", repeatable=True)
    )
    assert (failure.kind, failure.where) == ("file_error", str(tmp_path / "missing"))


@pytest.mark.parametrize("address", ["http://host:port", "http://[::1"])
def test_addresses_that_cannot_be_taken_apart(address):
    with pytest.raises(Usage, match="http"):
        Connection(Settings(address, "", "", {}), {})


def test_a_server_below_a_path(play):
    script, _, _ = play(answer("200 OK"), answer("404 Not Found"))
    connection = Connection(Settings(f"{script.url}/lake", "", "", {}), {})
    connection.get("x")
    assert script.requests[0].startswith(b"GET /lake/api/v1/x ")
    assert b"Authorization" not in script.requests[0]
    where = fail(lambda: connection.get("x")).where
    assert where == f"GET {script.url}/lake/api/v1/x (HTTP 404)"
