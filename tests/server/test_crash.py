"""Servers that are killed under load: what they acknowledged is there, and nothing stray is."""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from support.clients.no_retry_client import Caller
from support.eventually import eventually
from support.leftovers import strays

import anabranch
from anabranch.library import DATABASE_FILE
from anabranch.testing.server import running_server

LONGEST_LIFE_SECONDS = 0.9
WRITERS = 6
PATHS = 7
REPOSITORY = "mortal"
BROKEN = (OSError, http.client.HTTPException)


class Writer(threading.Thread):
    """Uploads to paths of its own, commits, branches, merges and tags, until the server is gone.

    `certain` has the last acknowledged content of each path, `possible` what was sent later and
    not answered; `commits` and `tags` were acknowledged.
    """

    def __init__(self, number, seed):
        self.number = number
        self.random = random.Random(seed + number)
        self.certain = {}
        self.possible = {}
        self.commits = []
        self.tags = {}
        self.surprises = []
        self.sent = 0
        self.begin(None)

    def begin(self, server):
        """Prepares another life of the server."""
        super().__init__(name=f"writer-{self.number}")
        self.call = server and Caller(server, timeout=60)
        self.commits_before = len(self.commits)

    def run(self):
        try:
            while not self.surprises:
                for _ in range(self.random.randint(1, 4)):
                    self.put()
                self.commit("main")
                if self.random.random() < 0.3:
                    self.merge_a_branch()
        except BROKEN:
            self.call.close()

    def put(self):
        self.sent += 1
        path = f"{self.name}/{self.random.randrange(PATHS)}"
        content = f"{self.name} {self.sent} ".encode() * self.random.choice((1, 20, 20_000))
        self.possible[path] = {content}
        self.expect(self.call.put(REPOSITORY, "main", path, content), 201)
        self.certain[path] = content
        del self.possible[path]

    def commit(self, branch):
        reply = self.call.commit(REPOSITORY, branch, f"{self.name} {self.sent}")
        if reply.status == 400 and reply.message == "commit: no changes":
            return
        self.expect(reply, 201)
        self.commits.append(reply.json["id"])

    def merge_a_branch(self):
        """Merges a branch of its own into `trunk`, which is never dirty, and tags the result."""
        self.sent += 1
        branch, base = f"{self.name}-{self.sent}", f"/repositories/{REPOSITORY}"
        self.expect(self.call("POST", f"{base}/branches", {"name": branch, "source": "trunk"}), 201)
        self.expect(self.call.put(REPOSITORY, branch, branch, branch.encode()), 201)
        self.commit(branch)
        merged = self.call("POST", f"{base}/refs/{branch}/merge/trunk", {})
        self.expect(merged, 200)
        self.commits.append(merged.json["reference"])
        tag = {"id": f"tag-{branch}", "ref": merged.json["reference"]}
        self.expect(self.call("POST", f"{base}/tags", tag), 201)
        self.tags[tag["id"]] = tag["ref"]
        self.expect(self.call("DELETE", f"{base}/branches/{branch}"), 204)

    def expect(self, reply, status):
        if reply.status != status:
            self.surprises.append(reply)
            raise ConnectionError(reply)

    def compare(self, lake):
        """Compares the stored objects with the acknowledged ones, which are then settled."""
        for path in self.certain.keys() | self.possible.keys():
            try:
                found = lake.objects.open(REPOSITORY, "main", path).read_bytes()
            except anabranch.errors.NotFound:
                found = None
            assert found in {self.certain.get(path), *self.possible.get(path, ())}, path
            if found is not None:
                self.certain[path] = found
        self.possible = {}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("lives", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_server_that_is_killed_keeps_what_it_acknowledged(tmp_path, lives, seed):
    moments = random.Random(seed)
    writers = [Writer(number, seed) for number in range(WRITERS)]
    for life in range(lives):
        with running_server(tmp_path) as server:
            if life == 0:
                call = Caller(server)
                call.make_repository(REPOSITORY)
                branch = {"name": "trunk", "source": "main"}
                assert call("POST", f"/repositories/{REPOSITORY}/branches", branch).status == 201
            for writer in writers:
                writer.begin(server)
                writer.start()
            time.sleep(moments.uniform(0.2, LONGEST_LIFE_SECONDS))
            await_a_commit(writers)
            server.process.kill()
            server.process.wait()
            for writer in writers:
                writer.join()
        assert [surprise for writer in writers for surprise in writer.surprises] == []
        with anabranch.open(tmp_path) as lake:
            for writer in writers:
                writer.compare(lake)
    with anabranch.open(tmp_path) as lake:
        for branch in lake.branches.list(REPOSITORY, amount=10_000).items:
            lake.commits.commit(
                REPOSITORY, branch.id, message="The rest", committer="test", allow_empty=True
            )
        check_history(lake, writers)
        check_trees(lake)
    check_database(tmp_path)
    assert strays(tmp_path) == []


def await_a_commit(writers):
    """Waits for a commit in this life of the server: a slow machine's lives are longer."""
    deadline = time.monotonic() + 100
    while all(len(writer.commits) == writer.commits_before for writer in writers):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def log(lake, reference):
    page = lake.commits.log(REPOSITORY, reference, amount=100_000)
    assert not page.has_more
    return page.items


def check_history(lake, writers):
    """Checks that every acknowledged commit and tag is there."""
    known = {commit.id for branch in ("main", "trunk") for commit in log(lake, branch)}
    branches = lake.branches.list(REPOSITORY, amount=10_000).items
    known |= {commit.id for branch in branches for commit in log(lake, branch.id)}
    for writer in writers:
        assert set(writer.commits) <= known
        for tag, commit in writer.tags.items():
            assert lake.tags.get(REPOSITORY, tag).commit_id == commit


def check_trees(lake):
    """Checks that every commit's tree is whole and every object in it has its bytes."""
    repository = lake.repositories.get(REPOSITORY)
    seen = {}
    for branch in ("main", "trunk"):
        for commit in log(lake, branch):
            for path, entry in lake.core.objects.entries(repository, commit.id):
                if entry.address not in seen:
                    content = lake.objects.open(REPOSITORY, commit.id, path).read_bytes()
                    seen[entry.address] = hashlib.md5(content, usedforsecurity=False).hexdigest()
                assert seen[entry.address] == entry.checksum


def check_database(root):
    """Checks the file by SQLite itself, while no process has it open."""
    connection = sqlite3.connect(root / "metadata" / DATABASE_FILE)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_worker_that_is_killed_is_replaced(tmp_path):
    with running_server(tmp_path, workers=2) as server:
        call = Caller(server)
        call.make_repository(REPOSITORY)
        before = server.workers()
        assert len(before) == 2
        held = {}
        for number in range(30):
            if number == 10:
                os.kill(min(before), signal.SIGKILL)
            try:
                reply = call.put(REPOSITORY, "main", f"{number}", b"%d" % number)
            except BROKEN:
                continue  # the connection was to the one that was killed
            assert reply.status == 201
            held[f"{number}"] = b"%d" % number
        assert len(held) >= 29
        eventually(lambda: len(now := server.workers()) == 2 and min(before) not in now)
        assert call.commit(REPOSITORY, "main", "All").status == 201
        for path, content in held.items():
            assert call.get(REPOSITORY, "main@", path).body == content
    assert strays(tmp_path) == []


@pytest.mark.slow
def test_workers_do_not_outlive_the_one_that_started_them(tmp_path):
    with running_server(tmp_path, workers=2) as server:
        call = Caller(server)
        call.make_repository(REPOSITORY)
        assert call.put(REPOSITORY, "main", "a", b"1").status == 201
        workers = server.workers()
        server.process.kill()
        server.process.wait()
        eventually(lambda: not answers(server) and not any(map(alive, workers)))
    with running_server(tmp_path) as server:
        assert Caller(server).get(REPOSITORY, "main", "a").body == b"1"


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def answers(server):
    try:
        return Caller(server, timeout=2)("GET", "/healthcheck").status
    except BROKEN:
        return 0
