"""The strategy `webhook`: what a service is sent, what it may respond, and how it may fail."""

import base64
import json

import pytest
from support.http_servers import answer, serving

from anabranch.errors import Conflict, Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies import webhook
from anabranch.versioning.strategies.registry import make_strategy, strategy_names

HERE = AddressGuard(["127.0.0.1"])


def ask(respond, guard=HERE, **options):
    """Asks a webhook about a path; returns the result and the requests."""
    with serving(respond) as (port, seen):
        strategy = make_strategy("webhook", {"url": f"http://127.0.0.1:{port}/x", **options}, guard)
        sides = {"base": b"0", "source": b"1\xff", "destination": b"2"}
        return run_strategy(strategy, "dir/a.bin", **sides), seen


def says(value):
    return answer(body=json.dumps(value).encode())


def encoded(content):
    return base64.b64encode(content).decode()


def test_the_request_has_the_path_the_commits_and_the_three_versions():
    headers = {"X-Token": "secret"}
    _, seen = ask(says({"strategy": "base"}), headers=headers, parameters={"mode": [1, None]})
    ((method, path, sent, body),) = seen
    assert (method, path, sent["X-Token"]) == ("POST", "/x", "secret")
    assert sent["Content-Type"] == "application/json"
    about = {"content_type": "application/octet-stream", "user_metadata": {}}
    assert json.loads(body) == {
        "repository": "tests",
        "path": "dir/a.bin",
        "commits": {"base": "base", "source": "source", "destination": "destination"},
        "parameters": {"mode": [1, None]},
        "base": {"size_bytes": 1, "content": encoded(b"0"), **about},
        "source": {"size_bytes": 2, "content": encoded(b"1\xff"), **about},
        "destination": {"size_bytes": 1, "content": encoded(b"2"), **about},
    }


@pytest.mark.parametrize(
    ("response", "content"),
    [
        ({"strategy": "source-wins"}, b"1\xff"),
        ({"strategy": "dest-wins"}, b"2"),
        ({"strategy": "base"}, b"0"),
        ({"strategy": "delete"}, None),
        ({"content": encoded(b"merged\x00")}, b"merged\x00"),
        ({"content": ""}, b""),
    ],
)
def test_a_response_settles_the_path(response, content):
    run, _ = ask(says(response))
    assert (run.conflicts, run.files) == ([], {"dir/a.bin": content})


def test_a_response_may_have_conflicts():
    found = {"key": {"id": 7}, "column": "price", "base": 1, "source": 2, "destination": [3]}
    run, _ = ask(says({"conflicts": [found, {"key": {}, "message": "both moved"}]}))
    first, second = run.conflicts
    assert (first.key, first.column, first.destination) == ({"id": 7}, "price", [3])
    assert (second.key, second.message) == ({}, "both moved")
    assert run.files == {}


def test_a_side_that_deleted_the_object_is_null():
    with serving(says({"strategy": "source-wins"})) as (port, seen):
        strategy = make_strategy("webhook", {"url": f"http://127.0.0.1:{port}"}, HERE)
        run = run_strategy(strategy, "a", base=b"0", source=None, destination=b"2")
    assert run.files == {"a": None}
    assert json.loads(seen[0].body)["source"] is None


def test_large_versions_are_described_without_their_content(monkeypatch):
    monkeypatch.setattr(webhook, "MAX_CONTENT_BYTES", 3)
    _, seen = ask(says({"strategy": "base"}))
    sent = json.loads(seen[0].body)["source"]
    assert (sent["size_bytes"], sent["content"]) == (2, None)


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (answer(500), "it responded with 500$"),
        (answer(422, b'{"message": "no owner"}'), "it responded with 422: no owner$"),
        (answer(422, b'{"message": 7}'), "it responded with 422$"),
        (answer(404, b"[" * 100_000), "it responded with 404$"),
        (answer(204), "it responded with 204$"),
        (answer(200), "its response is invalid"),
        (answer(200, b"<html>"), "its response is invalid"),
        (answer(200, b"\xff"), "its response is invalid"),
        (answer(200, b"[" * 100_000), "its response is invalid"),
        (says([]), "its response is invalid"),
        (says({}), "needs one of"),
        (says({"conflicts": []}), "needs one of"),
        (says({"strategy": "base", "content": ""}), "needs one of"),
        (says({"strategy": "rows"}), "its response is invalid"),
        (says({"strategy": "webhook"}), "its response is invalid"),
        (says({"content": "*"}), "is not base64"),
        (says({"content": 7}), "its response is invalid"),
        (says({"content": "", "content_type": 7}), "its response is invalid"),
        (says({"conflicts": [{"column": "x"}]}), "its response is invalid"),
        (says({"merged": ""}), "its response is invalid"),
        (answer(302, Location="http://127.0.0.2/"), "is not permitted"),
        (answer(302, Location="/x"), "redirects"),
    ],
)
def test_failures_and_nonsense_have_a_reason(respond, reason):
    with pytest.raises(Conflict, match=f"the webhook failed: .*{reason}") as failed:
        ask(respond)
    assert failed.value.kind == "merge_failed"


def test_content_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(webhook, "MAX_CONTENT_BYTES", 10)
    with pytest.raises(Conflict, match="has more than 10 bytes"):
        ask(says({"content": encoded(b"x" * 11)}))
    monkeypatch.setattr(webhook, "_MAX_RESPONSE_BYTES", 20)
    with pytest.raises(Conflict, match="has more than 20 bytes"):
        ask(says({"content": encoded(b"x" * 11)}))


def test_private_addresses_are_not_asked():
    with serving(says({"strategy": "base"})) as (port, seen):
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            strategy = make_strategy("webhook", {"url": f"http://{host}:{port}/"})
            with pytest.raises(Conflict, match="is not permitted"):
                run_strategy(strategy, "a", base=b"0", source=b"1", destination=b"2")
    assert seen == []


def test_a_webhook_that_hangs_is_given_up():
    def hang(handler):
        handler.rfile.read(1)

    with pytest.raises(Conflict, match="no whole response in time"):
        ask(hang, timeout=0.3)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "option url"),
        ({"url": 7}, "option url"),
        ({"url": "ftp://h/"}, "does not begin with https:// or http://"),
        ({"url": "http://h/a b"}, "has a space"),
        ({"url": "http://h/", "headers": []}, "option headers"),
        ({"url": "http://h/", "headers": {"X": 1}}, "option headers"),
        ({"url": "http://h/", "headers": {"X": "a\nb"}}, "the header 'X' has an invalid value"),
        ({"url": "http://h/", "headers": {"Host": "a"}}, "the header 'Host' cannot be set"),
        ({"url": "http://h/", "headers": {"content-type": "a"}}, "option headers"),
        ({"url": "http://h/", "timeout": 0}, "option timeout"),
        ({"url": "http://h/", "timeout": 601}, "option timeout"),
        ({"url": "http://h/", "timeout": True}, "option timeout"),
        ({"url": "http://h/", "timeout": float("nan")}, "option timeout"),
        ({"url": "http://h/", "method": "PUT"}, "has no option 'method'"),
    ],
)
def test_wrong_options_are_refused(options, reason):
    with pytest.raises(Invalid, match=reason) as refused:
        make_strategy("webhook", options)
    assert refused.value.kind == "invalid_merge_options"


def test_the_strategy_is_listed():
    assert "webhook" in strategy_names()
