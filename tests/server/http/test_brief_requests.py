"""Brief requests take no thread of their own; those that turn out to be long are begun again there.

The tests call the dispatcher of a server without sockets, and look where each request was executed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from base64 import b64encode

import pytest

from anabranch.http.execution import Execution
from anabranch.http.request_head import RequestHead
from anabranch.keyvalue.contract import Write
from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag
from anabranch.model.secret import Secret
from anabranch.server.composition import Composition
from anabranch.server.config.field import build
from anabranch.versioning.records import keys, references

KEY, SECRET = "AKIAJTESTTESTTESTTEQ", "a-secret-that-is-long-enough"
BATCHED, INLINE, POOLED = Execution.BATCHED, Execution.INLINE, Execution.POOLED
ACTION = b"""
name: look
on: {pre-create-branch: , pre-create-tag: , pre-delete-branch: }
hooks: [{id: look, type: lua, properties: {script: 'print(action.event_type)'}}]
"""


class Application:
    """A server's composition, and the client of an administrator."""

    def __init__(self, folder, **settings):
        values = {
            "data": folder,
            "database.type": "mem",
            "blockstore.local.path": folder / "block",
            "blockstore.signing.secret_key": Secret("another secret, long enough"),
            "auth.encrypt.secret_key": Secret("a secret, long enough"),
            "committed.local_cache.dir": folder / "cache",
            "installation.user_name": "admin",
            "installation.access_key_id": KEY,
            "installation.secret_access_key": Secret(SECRET),
            **settings,
        }
        self.composition = Composition(build(values))
        self.composition.start()

    def call(self, method, path, body=b"", **headers):
        """Returns where a request was executed, its status and its body."""
        return asyncio.run(self._call(method, f"/repositories{path}", body, headers))

    async def _call(self, method, path, body, headers, pair=(KEY, SECRET)):
        if not isinstance(body, bytes):
            body, headers = json.dumps(body).encode(), {"content-type": "application/json"}
        headers |= {
            "host": "127.0.0.1",
            "content-length": str(len(body)),
            "authorization": "Basic " + b64encode(":".join(pair).encode()).decode(),
        }
        path, _, query = f"/api/v1{path}".partition("?")
        head = RequestHead.sent(method, path, query, headers, scheme="http", client="127.0.0.1")
        dispatcher = self.composition.dispatcher
        exchange = dispatcher.dispatch(head, len(body))
        response = exchange.response
        if response is None:
            done = asyncio.get_running_loop().create_future()
            dispatcher.start(exchange, body, done.set_result)
            response = await done
        return exchange.execution, response.status, response.body

    def made(self, method, path, body=b""):
        """Makes a request that must succeed."""
        _, status, content = self.call(method, path, body)
        assert status < 300, content

    def names(self, kind):
        """Returns the names of branches or tags, and where they were listed."""
        execution, status, content = self.call("GET", f"/sea/{kind}?amount=100")
        assert status == 200
        return execution, [each["id"] for each in json.loads(content)["results"]]


def with_history(folder, **settings):
    application = Application(folder, **settings)
    application.made("POST", "", {"name": "sea", "storage_namespace": "local://sea"})
    for number in range(3):
        body = {"message": f"{number}", "allow_empty": True}
        application.made("POST", "/sea/branches/main/commits", body)
    return application


@pytest.fixture(name="application")
def _application(tmp_path):
    application = with_history(tmp_path)
    yield application
    application.composition.close()


@pytest.mark.parametrize(
    ("source", "executed"),
    [("main", BATCHED), ("main@", BATCHED), ("main~1", POOLED), ("main^", POOLED)],
)
def test_references_are_created_in_a_batch_unless_their_commit_is_searched(
    application, source, executed
):
    branch = {"name": "new", "source": source}
    assert application.call("POST", "/sea/branches", branch)[:2] == (executed, 201)
    assert application.call("POST", "/sea/tags", {"id": "t", "ref": source})[:2] == (executed, 201)
    assert application.names("branches") == (INLINE, ["main", "new"])
    assert application.names("tags") == (INLINE, ["t"])
    assert application.call("DELETE", "/sea/branches/new")[:2] == (BATCHED, 204)
    assert application.call("DELETE", "/sea/tags/t")[:2] == (BATCHED, 204)


def test_a_refusal_is_the_same_in_a_batch(application):
    branch = {"name": "main", "source": "main"}
    assert application.call("POST", "/sea/branches", branch)[:2] == (BATCHED, 409)
    tag = {"id": "t", "ref": "nowhere"}
    assert application.call("POST", "/sea/tags", tag)[:2] == (BATCHED, 404)


def test_hooks_never_run_in_a_batch(application):
    application.made("POST", "/sea/branches/main/objects?path=_lakefs_actions/a.yaml", ACTION)
    application.made("POST", "/sea/branches/main/commits", {"message": "hooks"})
    branch = {"name": "new", "source": "main"}
    assert application.call("POST", "/sea/branches", branch)[:2] == (POOLED, 201)
    assert application.call("POST", "/sea/tags", {"id": "t", "ref": "main"})[:2] == (POOLED, 201)
    assert application.call("DELETE", "/sea/branches/new")[:2] == (POOLED, 204)
    assert application.names("branches")[1] == ["main"]


@pytest.mark.parametrize("source", ["main~x", "main^^@", "main@{", "main" + "$" * 9])
def test_references_with_steps_are_not_even_parsed_in_a_batch(application, source):
    branch = {"name": "new", "source": source}
    assert application.call("POST", "/sea/branches", branch)[:2] == (POOLED, 400)


def test_many_rules_are_never_matched_in_a_batch(application):
    ends = [{"pattern": f"{number:0100}*", "expires": "7d"} for number in range(100)]
    approvals = [{"pattern": f"{number:010}*", "required_approvals": 1} for number in range(1_000)]
    branch = {"name": "new", "source": "main"}
    application.made("PUT", "/sea/settings/branch_ends", ends[:10])
    assert application.call("POST", "/sea/branches", branch)[:2] == (BATCHED, 201)
    application.made("PUT", "/sea/settings/branch_protection", approvals[:100])
    assert application.call("DELETE", "/sea/branches/new")[:2] == (BATCHED, 204)
    application.made("PUT", "/sea/settings/branch_ends", ends)
    assert application.call("POST", "/sea/branches", branch)[:2] == (POOLED, 201)
    application.made("PUT", "/sea/settings/branch_protection", approvals)
    assert application.call("DELETE", "/sea/branches/new")[:2] == (POOLED, 204)


@pytest.mark.parametrize(
    ("path", "executed"),
    [
        ("refs/main/commits", INLINE),
        ("refs/main/commits?amount=100", INLINE),
        ("refs/main/commits?amount=101", POOLED),
        ("refs/main~1/commits", POOLED),
        ("refs/main/commits?after=main~1", POOLED),
        ("refs/main/commits?objects=a", POOLED),
        ("refs/main/commits?prefixes=a", POOLED),
        ("branches", INLINE),
        ("branches?amount=101", POOLED),
        ("tags", INLINE),
        ("tags?amount=101", POOLED),
    ],
)
def test_short_pages_are_read_inline(application, path, executed):
    assert application.call("GET", f"/sea/{path}")[:2] == (executed, 200)


def test_a_page_behind_hidden_branches_takes_a_thread(application):
    for number in range(6):
        body = {"name": f"hidden-{number}", "source": "main", "hidden": True}
        application.made("POST", "/sea/branches", body)
    execution, status, content = application.call("GET", "/sea/branches?amount=3")
    assert (execution, status) == (POOLED, 200)
    assert [each["id"] for each in json.loads(content)["results"]] == ["main"]


def test_a_page_of_large_records_takes_a_thread(application):
    message = {"message": "m" * 400_000, "allow_empty": True}
    core = application.composition.lake.core
    sea = core.repositories.get("sea")
    head = core.branches.read(sea, "main").branch.commit_id
    for number in range(20):  # whose names are of a time when they had no greatest length
        tag = references.tag_bytes(Tag(id=f"{number:060000}", commit_id=head))
        branch = Branch(id=f"b{number:060000}", commit_id=head, staging_token=f"{number}")
        tag_write = Write(sea.partition, keys.tag(f"{number:060000}"), tag)
        core.keyvalue.apply([tag_write, core.branches.write(sea, branch)])
    for _ in range(3):
        application.made("POST", "/sea/branches/main/commits", message)
    for path in ("refs/main/commits", "branches", "tags"):
        execution, status, content = application.call("GET", f"/sea/{path}")
        assert (execution, status, len(content) > 1_000_000) == (POOLED, 200, True)
        assert application.call("GET", f"/sea/{path}?amount=1")[:2] == (INLINE, 200)


def test_rights_to_many_paths_are_never_decided_on_the_event_loop(application):
    async def logs_of_another_user():
        for path, body in (("users", {"id": "ann"}), ("users/ann/credentials", b"")):
            _, status, made = await application._call("POST", f"/auth/{path}", body, {})
            assert status == 201
        pair = json.loads(made)["access_key_id"], json.loads(made)["secret_access_key"]
        allowed = {"effect": "allow", "action": ["fs:ReadBranch"], "resource": "*"}
        policy = {"id": "ann", "statement": [allowed]}
        await application._call("POST", "/auth/policies", policy, {})
        await application._call("PUT", "/auth/users/ann/policies/ann", b"", {})
        path = "/repositories/sea/refs/main/commits"
        return [
            (await application._call("GET", path + query, b"", {}, pair))[:2]
            for query in ("", "?objects=a", "?prefixes=a")
        ]

    assert asyncio.run(logs_of_another_user()) == [(INLINE, 200), (POOLED, 401), (POOLED, 401)]


def allowing(count):
    """Returns statements whose names no prefix can tell from another."""
    return [
        {"effect": "allow", "action": ["fs:*"], "resource": f"arn:lakefs:fs:::repository/s?a*{at}*"}
        for at in range(count)
    ]


async def user_with(application, name, *policies):
    """Creates a user who has these policies alone, and returns a pair of keys."""
    for path, body in (("users", {"id": name}), (f"users/{name}/credentials", b"")):
        _, status, made = await application._call("POST", f"/auth/{path}", body, {})
        assert status == 201
    for number, statements in enumerate(policies):
        policy = {"id": f"{name}{number}", "statement": statements}
        assert (await application._call("POST", "/auth/policies", policy, {}))[1] == 201
        await application._call("PUT", f"/auth/users/{name}/policies/{name}{number}", b"", {})
    return json.loads(made)["access_key_id"], json.loads(made)["secret_access_key"]


READ_EVERYTHING = [{"effect": "allow", "action": ["fs:*"], "resource": "*"}]
REQUESTS = [
    ("GET", "/repositories/sea/branches/main", b"", 200, INLINE),
    ("GET", "/repositories/sea/refs/main/objects?path=a", b"", 200, INLINE),
    ("GET", "/repositories/sea/branches", b"", 200, INLINE),
    ("POST", "/repositories/sea/branches", {"name": "new", "source": "main"}, 201, BATCHED),
    ("POST", "/repositories/sea/branches/main/objects?path=b", b"2", 201, BATCHED),
    ("DELETE", "/repositories/sea/branches/main/objects?path=b", b"", 204, BATCHED),
]


@pytest.mark.parametrize("audited", [False, True])
def test_thousands_of_statements_are_never_compared_on_the_threads_that_others_wait_for(
    tmp_path, audited
):
    settings = {"audit.file": str(tmp_path / "audit")} if audited else {}
    application = with_history(tmp_path, **settings)
    application.made("POST", "/sea/branches/main/objects?path=a", b"1")

    async def requests(name, *policies):
        pair = await user_with(application, name, *policies)
        calls, executed = [], []
        for method, path, body, status, _ in REQUESTS:
            counted = 0

            def count(_frame, event, _argument):
                nonlocal counted
                counted += event in {"call", "c_call"}

            sys.setprofile(count)
            try:
                execution, answered, content = await application._call(method, path, body, {}, pair)
            finally:
                sys.setprofile(None)
            assert answered == status, content
            calls.append(counted)
            executed.append(execution)
        await application._call("DELETE", "/repositories/sea/branches/new", b"", {})
        return calls, executed

    few, executed = asyncio.run(requests("ann", READ_EVERYTHING))
    if not audited:
        assert executed == [expected for *_, expected in REQUESTS]
    many = [*(allowing(600) for _ in range(5)), READ_EVERYTHING]
    calls, executed = asyncio.run(requests("bob", *many))
    assert executed == [POOLED] * len(REQUESTS)
    # a user who was not found before has the statements decoded and counted
    assert max(calls) < max(few) + 3 * sum(map(len, many))
    assert sorted(calls)[2] < 2 * max(few)
    application.composition.close()
    if audited:
        records = [json.loads(line) for line in (tmp_path / "audit").read_bytes().splitlines()]
        decisions = [
            (each["request_id"], each["action"], each["resource"])
            for each in records
            if each["event"] == "decision" and each["user"] == "bob"
        ]
        assert len(set(decisions)) == len(decisions) >= len(REQUESTS)


def reading(name="arn:lakefs:fs:::*", actions=("fs:Read*",), condition=None):
    stated = {"effect": "allow", "action": list(actions), "resource": name}
    return [stated | ({"condition": condition} if condition else {})]


def addresses(count):
    values = [f"10.0.{at // 250}.{at % 250}/32" for at in range(count)]
    return {"IpAddress": {"SourceIp": values}}


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([reading(condition=addresses(100))], INLINE),
        ([reading(condition=addresses(101))], POOLED),
        ([reading(condition=addresses(60))] * 2, POOLED),
        ([reading("arn:lakefs:fs:::repository/?" + "a*" * 5_000)], INLINE),
        ([reading("arn:lakefs:fs:::repository/?" + "a*" * 10_000)], POOLED),
        ([reading(actions=["fs:Read" + "*" * at for at in range(1, 200)])], POOLED),
        ([allowing(99)], INLINE),
        ([allowing(100)], POOLED),
    ],
)
def test_policies_are_large_by_their_names_their_values_and_their_length(
    application, policies, expected
):
    async def executed():
        pair = await user_with(application, "ann", READ_EVERYTHING, *policies)
        path = "/repositories/sea/branches/main"
        return (await application._call("GET", path, b"", {}, pair))[:2]

    assert asyncio.run(executed()) == (expected, 200)


def test_a_request_that_begins_again_is_recorded_once_by_its_key(application):
    branch = json.dumps({"name": "new", "source": "main~1"}).encode()
    answers = [
        application.call(
            "POST",
            "/sea/branches",
            branch,
            **{"idempotency-key": "k", "content-type": "application/json"},
        )
        for _ in range(2)
    ]
    assert [status for _, status, _ in answers] == [201, 201]
    assert answers[0][2] == answers[1][2]


def test_with_an_audit_log_no_decision_is_made_twice(tmp_path):
    application = with_history(tmp_path, **{"audit.file": str(tmp_path / "audit")})
    branch = {"name": "new", "source": "main"}
    assert application.call("POST", "/sea/branches", branch)[:2] == (POOLED, 201)
    assert application.call("GET", "/sea/branches")[:2] == (POOLED, 200)
    application.composition.close()
