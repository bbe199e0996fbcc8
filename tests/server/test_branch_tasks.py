"""Servers that are killed while asynchronous merges run: a merge is complete, and its status says
so, or it has changed nothing and is reported as interrupted.
"""

from __future__ import annotations

import http.client
import random
import threading
import time

import pytest
from support.changes import Background
from support.clients.no_retry_client import Caller

from anabranch.pipelines.branch_tasks.branch_tasks import BranchTasks
from anabranch.testing.lake import lake_of
from anabranch.testing.server import running_server, shared_environment

REPOSITORY = "sea"
BASE = f"/repositories/{REPOSITORY}"
TASKS = 16
MAX_ROUNDS = 12
AFTER_HEARTBEATS = 61
BROKEN = (OSError, http.client.HTTPException)


def settings_of(kind, request, folder):
    if kind == "sqlite":
        return {}
    database = request.getfixturevalue("postgres_database")
    return {"database": database, "env": shared_environment(folder)}


def prepare(call):
    """Makes a branch to merge from, whose merge into `main` has to be a new tree."""
    call.make_repository(REPOSITORY)
    assert call("POST", f"{BASE}/branches", {"name": "source", "source": "main"}).status == 201
    for branch in ("source", "main"):
        for number in range(20):
            assert call.put(REPOSITORY, branch, f"{branch}/{number}", b"1").status == 201
        assert call.commit(REPOSITORY, branch, branch).status == 201


class Submitter(threading.Thread):
    """Starts merges into branches until the server is gone; `tasks` has the acknowledged ones."""

    def __init__(self, server, branches):
        super().__init__()
        self.call = Caller(server)
        self.branches = branches
        self.tasks = {}

    def run(self):
        for branch in self.branches:
            try:
                started = self.call("POST", f"{BASE}/refs/source/merge/{branch}/async", {})
            except BROKEN:
                return
            assert started.status == 202
            self.tasks[branch] = started.json["id"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.slow
def test_a_killed_merge_is_complete_or_interrupted_without_a_change(request, tmp_path, kind, seed):
    settings = settings_of(kind, request, tmp_path)
    moments = random.Random(seed)
    completed = interrupted = 0
    for number in range(MAX_ROUNDS):
        branches = [f"b-{number}-{each}" for each in range(TASKS)]
        with running_server(tmp_path, **settings) as server:
            call = Caller(server)
            if number == 0:
                prepare(call)
            heads = {}
            for branch in branches:
                creation = {"name": branch, "source": "main"}
                heads[branch] = call("POST", f"{BASE}/branches", creation).body.decode()
            submitters = [Submitter(server, branches[start::2]) for start in range(2)]
            for submitter in submitters:
                submitter.start()
            started = submitters[0].tasks
            wait_for(lambda these=started: these)
            if number % 2:  # a busy machine may complete none for long
                first = next(iter(started.items()))
                wait_for(lambda one=first, by=call: is_completed(by, *one))
            else:
                time.sleep(moments.uniform(0, 0.05))
            server.process.kill()
            server.process.wait()
            for submitter in submitters:
                submitter.join()
        tasks = submitters[0].tasks | submitters[1].tasks
        with running_server(tmp_path, **settings) as server:
            counts = compare(Caller(server), tasks, heads, lake_after(tmp_path, settings))
        completed += counts[0]
        interrupted += counts[1]
        if completed and interrupted:
            return
    pytest.fail(f"{completed} merges were completed and {interrupted} interrupted")


def is_completed(call, branch, task_id):
    """Whether a merge has been completed, according to its status."""
    path = f"{BASE}/refs/source/merge/{branch}/async/{task_id}/status"
    return call("GET", path).json["completed"]


def lake_after(folder, settings):
    """Returns the lake as a server has it for which no heartbeat has come for a minute."""
    lake = lake_of(folder, settings.get("database", ""))
    tasks = BranchTasks(lake.core, lambda: time.time() + AFTER_HEARTBEATS)
    lake.before_close(tasks.close)
    return lake, tasks


def compare(call, tasks, heads, opened):
    """Compares what the statuses say with the branches; returns how many merges were completed and
    how many interrupted.
    """
    lake, later = opened
    completed = 0
    with lake:
        for branch, task_id in tasks.items():
            path = f"{BASE}/refs/source/merge/{branch}/async/{task_id}/status"
            head = call("GET", f"{BASE}/branches/{branch}").json["commit_id"]
            status = call("GET", path).json
            if status["completed"]:
                assert status["result"] == {"reference": head}
                assert head != heads[branch]
                assert later.merges.status(REPOSITORY, branch, task_id).completed
                completed += 1
                continue
            assert head == heads[branch]
            assert later.merges.status(REPOSITORY, branch, task_id).status_code == 503
            status = call("GET", path).json
            assert (status["completed"], status["status_code"]) == (True, 503)
            assert "start it again" in status["error"]["message"]
            assert call("GET", f"{BASE}/branches/{branch}").json["commit_id"] == head
            again = call("POST", f"{BASE}/refs/source/merge/{branch}", {})
            assert again.status == 200
    return completed, len(tasks) - completed


def wait_for(holds):
    deadline = time.monotonic() + 100
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_stopped_server_ends_its_tasks(tmp_path):
    with running_server(tmp_path) as server:
        call = Caller(server)
        prepare(call)
        branches = [f"b-{number}" for number in range(TASKS)]
        for branch in branches:
            creation = {"name": branch, "source": "main"}
            assert call("POST", f"{BASE}/branches", creation).status == 201
        submitter = Submitter(server, branches)
        submitter.run()
        assert len(submitter.tasks) == TASKS
        assert server.stop() == 0
    with running_server(tmp_path) as server:
        call = Caller(server)
        for branch, task_id in submitter.tasks.items():
            path = f"{BASE}/refs/source/merge/{branch}/async/{task_id}/status"
            status = call("GET", path).json
            assert status["completed"]
            assert ("result" in status) != (status.get("status_code") == 503)


def test_a_task_that_was_reported_as_interrupted_never_moves_the_branch(tmp_path):
    """Its server was only slow."""
    with lake_of(tmp_path) as lake:
        lake.repositories.create(REPOSITORY, f"local://{REPOSITORY}")
        reported, ended, moved = threading.Event(), threading.Event(), []

        def commit(completion):
            assert reported.wait(60)
            kept = {"message": "late", "committer": "c", "allow_empty": True}
            try:
                moved.append(
                    lake.commits.commit(REPOSITORY, "main", **kept, extra_writes=completion)
                )
            finally:
                ended.set()

        head = lake.branches.get(REPOSITORY, "main").commit_id
        task_id = lake.branch_tasks.commits.start(REPOSITORY, "main", Background(commit))
        other = BranchTasks(lake.core, lambda: time.time() + AFTER_HEARTBEATS)
        assert other.commits.status(REPOSITORY, "main", task_id).status_code == 503
        reported.set()
        assert ended.wait(60)
        assert not moved
        assert lake.branches.get(REPOSITORY, "main").commit_id == head
        assert other.commits.status(REPOSITORY, "main", task_id).status_code == 503


@pytest.mark.slow
def test_equal_requests_at_once_on_two_servers_start_one_task(tmp_path):
    with running_server(tmp_path) as one, running_server(tmp_path) as two:
        Caller(one).make_repository(REPOSITORY)
        path = f"{BASE}/branches/main/commits/async"
        body = {"message": "once", "allow_empty": True}
        callers = [Caller(server) for server in (one, two) * 3]
        together = threading.Barrier(len(callers))
        replies = []

        def send(call):
            together.wait()
            replies.append(call("POST", path, body, Idempotency_Key="the-key"))

        threads = [threading.Thread(target=send, args=(call,)) for call in callers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {reply.status for reply in replies} == {202}
        (task_id,) = {reply.json["id"] for reply in replies}
        for call in callers[:2]:  # either server knows the task
            wait_for(lambda call=call: call("GET", f"{path}/{task_id}/status").json["completed"])
        log = callers[0]("GET", f"{BASE}/refs/main/commits").json["results"]
        assert [commit["message"] for commit in log].count("once") == 1
