"""Limits of calls: bytes of arguments, results and objects, time, and calls at once."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from mcp import MCPError

from anabranch.errors import Busy
from anabranch.mcp.execution import Runner
from anabranch.mcp.limits import MAX_ARGUMENT_BYTES, MAX_CONTENT_BYTES, MAX_RESULT_BYTES, CallLimits

ENDLESS = (
    "SELECT count(*) FROM range(10000000000000) a, range(1000000) b WHERE a.range % 7 = b.range"
)


@pytest.fixture(scope="module", params=["stdio", "http"])
def session(request, connect, server):
    if request.param == "http":
        with connect["http"](server, server.auth) as session:
            session.way = "http"
            yield session
    else:
        with connect["stdio"](**environment(server)) as session:
            session.way = "stdio"
            yield session


def environment(server):
    return {
        "ANABRANCH_SERVER": server.url,
        "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
        "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
    }


@pytest.mark.sample(1)
def test_ten_megabytes_of_arguments_are_refused_and_the_session_goes_on(session, new_repository):
    name = new_repository({"a": b"1"})
    asked = {"repository": name, "sql": "x" * (10 << 20)}
    if session.way == "http":  # where the message is not received at all
        with pytest.raises(MCPError, match="longer than"):
            session.call("query", **asked)
    else:
        error = session.call("query", **asked).error
        assert error["kind"] == "arguments_too_large"
        assert str(MAX_ARGUMENT_BYTES) in error["message"]
    assert session.call("read_object", repository=name, path="a").text == "1"


def test_arguments_are_checked_before_anything_is_done(session):
    place = {"repository": "a", "path": "b"}
    cases = [
        ("list_objects", {"repository": "a", "prefiks": "b"}, "Did you mean prefix?"),
        ("list_objects", {}, "repository"),
        ("list_objects", {"repository": 5}, "repository"),
        ("list_objects", {"repository": "a", "amount": 101}, "amount"),
        ("list_objects", {"repository": "a", "amount": 0}, "amount"),
        ("list_objects", {"repository": "a", "amount": True}, "amount"),
        (
            "read_object",
            {"repository": "a", "path": "b", "length": MAX_CONTENT_BYTES + 1},
            "length",
        ),
        ("read_object", {**place, "start": -1}, "start"),
        ("read_object", {"repository": "a", "path": ""}, "path"),
        ("list_references", {"repository": "a", "kind": "commits"}, "kind"),
        (
            "diff_rows",
            {"repository": "a", "left": "b", "right": "c", "path": "d", "key": "e"},
            "key",
        ),
    ]
    for tool, arguments, named in cases:
        error = session.call(tool, **arguments).error
        assert error["kind"] == "invalid_arguments", arguments
        assert named in error["message"] + error["hint"], error


def test_unknown_tools_and_prompts_are_errors_of_the_protocol(session):
    with pytest.raises(MCPError, match="list_objects"):
        session.ask("call_tool", "list_object", {"repository": "a"})
    with pytest.raises(MCPError, match="audit_change"):
        session.ask("get_prompt", "audit", {})
    with pytest.raises(MCPError, match="repository, source, destination"):
        session.ask("get_prompt", "audit_change", {"repository": "a"})


@pytest.mark.slow
def test_long_listings_end_early_and_can_be_continued(session, new_repository):
    paths = {f"{number:03}-" + "ä" * 450: b"" for number in range(150)}
    name = new_repository(paths)
    seen, after, pages = [], "", 0
    while True:
        called = session.call("list_objects", repository=name, amount=100, after=after)
        assert len(called.whole.encode()) < MAX_RESULT_BYTES
        seen += [each["path"] for each in called.data["results"]]
        pages += 1
        if not called.data["has_more"]:
            break
        after = called.data["next"]
    assert seen == sorted(paths)
    assert pages > 2  # not two pages of 100: the bytes have ended them


@pytest.mark.sample(1)
def test_large_objects_and_rows_are_cut(session, new_repository):
    text = "0123456789" * 50_000
    row = "a,b\n" + "\n".join(f"{number},{'y' * 5000}" for number in range(200)) + "\n"
    name = new_repository({"long.txt": text.encode(), "wide.csv": row.encode()})
    read = session.call("read_object", repository=name, path="long.txt", length=MAX_CONTENT_BYTES)
    assert read.text == text[:MAX_CONTENT_BYTES]
    assert read.data["next"] == MAX_CONTENT_BYTES
    (resource,) = session.ask("read_resource", f"lakefs://{name}/main/long.txt").contents
    assert len(resource.text) < MAX_CONTENT_BYTES + 1000
    assert resource.meta == {"size_bytes": len(text), "length": MAX_CONTENT_BYTES}
    table = session.call("preview_table", repository=name, path="wide.csv", rows=100)
    assert len(table.whole.encode()) < MAX_RESULT_BYTES
    assert table.data["has_more"]
    assert table.data["rows"][0][1].endswith("… (cut)")


@pytest.mark.sample(1)
def test_columns_that_are_not_shown_are_counted(session, new_repository):
    name = new_repository({"wide.csv": (",".join(map(str, range(150))) + "\n").encode() * 2})
    table = session.call("preview_table", repository=name, path="wide.csv").data
    assert len(table["columns"]) == len(table["rows"][0]) == 100
    assert table["cut"] == "150 columns, of which 100 are shown"


def test_a_call_ends_with_its_time_limit(connect, server, new_repository):
    new_repository()
    with connect["stdio"]("--timeout", "1", **environment(server)) as session:
        session.call("list_repositories")
        began = time.monotonic()
        name = session.results("list_repositories")[0]["id"]
        error = session.call("query", repository=name, sql=ENDLESS).error
        assert error["kind"] == "call_timeout"
        assert time.monotonic() - began < 25  # the server's own limit of a query is 30 seconds
        assert session.call("list_repositories").data["results"]


class Blocked:
    """What a call waits for."""

    def __init__(self):
        self.aborted = threading.Event()

    def abort(self):
        self.aborted.set()


class Waiting:
    """Work that waits until it is aborted."""

    def __init__(self):
        self.started, self.ended = threading.Event(), threading.Event()

    def __call__(self, api):
        blocked = Blocked()
        with api._cancellation.aborting(blocked):
            self.started.set()
            assert blocked.aborted.wait(60)
        self.ended.set()


def test_a_cancelled_call_is_aborted_and_gives_its_place_back():
    async def scenario():
        runner = Runner(CallLimits(seconds=60, calls=1))
        waiting = Waiting()
        task = asyncio.ensure_future(runner.run(None, waiting))
        assert await asyncio.to_thread(waiting.started.wait, 60)
        with pytest.raises(Busy) as refused:
            await runner.run(None, lambda _: None)
        assert refused.value.kind == "too_many_calls"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(waiting.ended.wait, 60)
        while True:
            try:
                return await runner.run(None, lambda _: "free")
            except Busy:
                await asyncio.sleep(0.01)

    assert asyncio.run(scenario()) == "free"


def test_a_call_that_was_cancelled_begins_no_request():
    async def scenario():
        runner = Runner(CallLimits(seconds=0.05, calls=2))
        late, ended = threading.Event(), threading.Event()
        failed = []

        def work(api):
            late.wait(60)
            try:
                with api._cancellation.aborting(Blocked()):
                    failed.append("began")
            except Busy as error:
                failed.append(error.kind)
            ended.set()

        with pytest.raises(Busy) as slow:
            await runner.run(None, work)
        assert slow.value.kind == "call_timeout"
        late.set()
        assert await asyncio.to_thread(ended.wait, 60)
        return failed

    assert asyncio.run(scenario()) == ["call_cancelled"]
