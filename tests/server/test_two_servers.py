"""Two servers on one folder, or on one database, are one: what one has done the other shows at
once.
"""

from __future__ import annotations

import threading

import pytest
from support.clients.no_retry_client import Caller
from support.session.sizes import sized

import anabranch
from anabranch.testing.server import running_server, shared_environment

REPOSITORY = "shared"
BASE = f"/repositories/{REPOSITORY}"


@pytest.fixture(params=["one folder", "one database"])
def two(request, tmp_path):
    """Callers of two servers that were started at the same time, on one folder, or on one database
    with data folders of their own.
    """
    data, settings = (tmp_path, tmp_path), {}
    if request.param == "one database":
        data = tmp_path / "one", tmp_path / "two"
        settings["database"] = request.getfixturevalue("postgres_database")
        settings["env"] = shared_environment(tmp_path)
    with running_server(data[0], **settings) as one, running_server(data[1], **settings) as two:
        callers = Caller(one), Caller(two)
        callers[0].make_repository(REPOSITORY)
        yield callers


@pytest.mark.sample(1)
def test_each_sees_at_once_what_the_other_did(two):
    rounds = sized(6, weekly=20)
    for number in range(rounds):
        this, other = two[number % 2], two[(number + 1) % 2]
        path, content = f"path-{number}", b"%d" % number
        assert this.put(REPOSITORY, "main", path, content).status == 201
        assert other.get(REPOSITORY, "main", path).body == content
        commit = other.commit(REPOSITORY, "main", path).json["id"]
        assert this("GET", f"{BASE}/branches/main").json["commit_id"] == commit
        assert this.get(REPOSITORY, commit, path).body == content
        branch = {"name": f"branch-{number}", "source": "main"}
        assert this("POST", f"{BASE}/branches", branch).status == 201
        assert other("POST", f"{BASE}/branches", branch).status == 409
        where = f"{BASE}/branches/main/objects?path={path}"
        assert other("DELETE", where).status == 204
        assert this.get(REPOSITORY, "main", path).status == 404
        assert this.get(REPOSITORY, "main@", path).body == content
    log = two[0]("GET", f"{BASE}/refs/main/commits?amount=1000").json["results"]
    assert len(log) == rounds + 1


@pytest.mark.slow
def test_a_repository_deleted_by_one_is_gone_for_the_other(two):
    one, other = two
    assert other("GET", BASE).status == 200
    assert one("DELETE", BASE).status == 204
    assert other("GET", BASE).status == 404
    assert other.put(REPOSITORY, "main", "a", b"1").status == 404
    body = {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}-again"}
    assert other("POST", "/repositories", body).status == 201
    assert one("GET", f"{BASE}/refs/main/objects/ls").json["results"] == []


@pytest.mark.slow
def test_a_token_of_one_is_good_for_the_other(tmp_path):
    with running_server(tmp_path) as one, running_server(tmp_path) as two:
        login = {"access_key_id": one.access_key_id, "secret_access_key": one.secret_access_key}
        token = Caller(one)("POST", "/auth/login", login).json["token"]
        caller = Caller(two)
        reply = caller("GET", "/repositories", Authorization=f"Bearer {token}")
        assert reply.status == 200


def test_library_works_while_a_server_runs(tmp_path):
    with running_server(tmp_path) as server, anabranch.open(tmp_path) as lake:
        call = Caller(server)
        lake.repositories.create(REPOSITORY, f"local://{REPOSITORY}")
        lake.objects.upload(REPOSITORY, "main", "a", [b"from the library"])
        assert call.get(REPOSITORY, "main", "a").body == b"from the library"
        commit = call.commit(REPOSITORY, "main", "Through the server").json["id"]
        assert lake.branches.get(REPOSITORY, "main").commit_id == commit


@pytest.mark.parametrize("two", ["one database"], indirect=True)
def test_a_commit_of_a_repository_that_another_deletes_is_read_until_then_and_no_longer(two):
    one, other = two
    for number in range(sized(1, weekly=3)):
        name = f"gone-{number}"
        one.make_repository(name)
        one.put(name, "main", "a", b"1")
        commit = one.commit(name, "main", "first").json["id"]
        stat = f"/repositories/{name}/refs/{commit}/objects/stat?path=a"
        deletion = threading.Thread(target=one, args=("DELETE", f"/repositories/{name}"))
        assert other("GET", stat).status == 200
        deletion.start()
        while deletion.is_alive():
            assert other("GET", stat).status in {200, 404}
        deletion.join()
        for read in (stat, stat.replace("/stat", ""), stat.replace("stat?path=a", "ls")):
            assert other("GET", read).status == 404


@pytest.mark.slow
def test_only_one_of_many_creates_a_name(two):
    replies = []

    def create(call):
        replies.append(call("POST", f"{BASE}/tags", {"id": "v1", "ref": "main"}).status)

    for _ in range(10):
        threads = [threading.Thread(target=create, args=(call,)) for call in two]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(replies) == [201, 409]
        replies.clear()
        assert two[0]("DELETE", f"{BASE}/tags/v1").status == 204


@pytest.mark.slow
def test_one_server_continues_when_the_other_stops(tmp_path):
    with running_server(tmp_path) as stays:
        with running_server(tmp_path) as goes:
            call = Caller(goes)
            call.make_repository(REPOSITORY)
            assert call.put(REPOSITORY, "main", "a", b"1").status == 201
        other = Caller(stays)
        assert other.get(REPOSITORY, "main", "a").body == b"1"
        assert other.commit(REPOSITORY, "main", "Still there").status == 201
