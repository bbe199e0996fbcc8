"""Idempotency keys between servers, under connections that break and servers that are killed."""

from __future__ import annotations

import random
import threading
import time
from functools import partial

import httpx2
import pytest
from support.clients.no_retry_client import Caller
from support.eventually import eventually
from support.faults.faulty_proxy import FaultyProxy
from support.session.service_fixtures import new_database
from support.session.sizes import sized

from anabranch.testing.server import running_server, shared_environment

REPOSITORY = "sea"
BASE = f"/repositories/{REPOSITORY}"
COMMITS = f"{BASE}/branches/main/commits"
ROUNDS = 5
LOST_ANSWERS = sized(12, weekly=40)
TRIES = 6


def log(call):
    return [
        (commit["id"], commit["message"])
        for commit in call("GET", f"{BASE}/refs/main/commits?amount=1000").json["results"]
    ]


@pytest.mark.parametrize("kind", ["one folder", "one database"])
@pytest.mark.sample(1)
def test_equal_requests_at_once_on_two_servers_make_one_change(request, tmp_path, kind):
    data, settings = (tmp_path, tmp_path), {}
    if kind == "one database":
        data = tmp_path / "one", tmp_path / "two"
        settings["database"] = request.getfixturevalue("postgres_database")
        settings["env"] = shared_environment(tmp_path)
    with running_server(data[0], **settings) as one, running_server(data[1], **settings) as two:
        Caller(one).make_repository(REPOSITORY)
        callers = [Caller(server) for server in (one, two) * (TRIES // 2)]
        for number in range(ROUNDS):
            assert callers[0].put(REPOSITORY, "main", f"{number}", b"1").status == 201
            together = threading.Barrier(TRIES)
            replies = []

            def send(call, number=number, together=together, replies=replies):
                together.wait()
                key = {"Idempotency_Key": f"commit-{number}"}
                replies.append(call("POST", COMMITS, {"message": f"{number}"}, **key))

            threads = [threading.Thread(target=send, args=(call,)) for call in callers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert {reply.status for reply in replies} == {201}
            assert len({reply.body for reply in replies}) == 1
        assert [message for _, message in log(callers[0])][:ROUNDS] == ["4", "3", "2", "1", "0"]
        assert len(log(callers[1])) == ROUNDS + 1


def test_a_commit_whose_answer_was_lost_is_made_once(postgres_cluster, tmp_path):
    """The connection to the database breaks after any number of bytes of its answers."""
    database = new_database(postgres_cluster)
    chance = random.Random(1)
    with FaultyProxy(("127.0.0.1", postgres_cluster.port)) as proxy:
        url = postgres_cluster.url(database.rsplit("/", 1)[1], port=proxy.port)
        with running_server(tmp_path, database=url) as server, _client(server) as client:
            call = Caller(server)
            call.make_repository(REPOSITORY)
            seen = set()
            for number in range(LOST_ANSWERS):
                put = partial(call.put, REPOSITORY, "main", f"{number}", b"1")
                assert _connected(put).status == 201
                proxy.pass_answers(chance.randrange(1_500))
                replies = []

                def commit(number=number, replies=replies):
                    replies.append(_answer(client, f"{number}"))
                    proxy.reset()
                    return replies[-1].status_code == 201

                eventually(commit)
                reply = replies[-1]
                seen |= {
                    (each.status_code, each.headers.get("X-Anabranch-Kind")) for each in replies
                }
                again = _connected(partial(_answer, client, f"{number}"))
                assert again.content == reply.content
            assert [message for _, message in log(call)][:-1] == [
                str(number) for number in reversed(range(LOST_ANSWERS))
            ]
            assert len(seen) > 1, "no connection broke"


@pytest.mark.parametrize("keyed", [pytest.param(True, marks=pytest.mark.slow), False])
def test_error_of_an_unknown_outcome_has_a_hint(postgres_cluster, tmp_path, keyed):
    database = new_database(postgres_cluster)
    with FaultyProxy(("127.0.0.1", postgres_cluster.port)) as proxy:
        url = postgres_cluster.url(database.rsplit("/", 1)[1], port=proxy.port)
        with running_server(tmp_path, database=url) as server, _client(server) as client:
            call = Caller(server)
            call.make_repository(REPOSITORY)
            # periodic tasks make round trips, too: not each sweep loses the commit's answer
            for round_trips in [*range(40)] * (1 if keyed else 8):
                _connected(partial(call, "GET", f"{BASE}/branches/main"))
                proxy.lose_answer(round_trips)
                reply = _answer(client, f"{round_trips}" if keyed else "", allow_empty=True)
                if reply.headers.get("X-Anabranch-Kind") == "outcome_unknown":
                    break
                proxy.reset()
            else:
                # with a key, the outcome is mostly found, as the database answers again
                assert keyed
                return
            assert reply.status_code == 503
            assert "Idempotency-Key" in reply.headers["X-Anabranch-Hint"]
            assert "Retry-After" not in reply.headers


def _connected(send):
    """Returns the response to a request that is sent again while the server finds connections to
    the database that were broken before.
    """
    deadline = time.monotonic() + 60
    while True:
        reply = send()
        is_away = 503 in (getattr(reply, "status", None), getattr(reply, "status_code", None))
        if not is_away or time.monotonic() > deadline:
            return reply
        time.sleep(0.05)


def _client(server):
    return httpx2.Client(base_url=server.api, auth=server.auth, timeout=60)


def _answer(client, key, **more):
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(COMMITS, json={"message": key, **more}, headers=headers)
