"""Many writers on one branch, over two servers on one folder, and over two that share only a
database and the folder of objects: nothing fails, nothing is lost.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time

import pytest
from support.clients.no_retry_client import Caller
from support.session.sizes import sized

from anabranch.testing.lake import lake_of
from anabranch.testing.server import running_server, shared_environment

WRITERS = sized(12, weekly=32)
MOST_SECONDS = 120
PUTS_BEFORE_A_COMMIT = 3
PATHS = 5
REPOSITORY = "contended"


def checksum(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


class Writer(threading.Thread):
    """Uploads to paths of its own, tries to be the first at paths that all want, and commits.

    `held` is the last acknowledged content of each of its paths, `commits` has for each of its
    commits what it held then; `rounds` is how many contents it has made.
    """

    def __init__(self, number, server, done):
        super().__init__(name=f"writer-{number:02}")
        self.call = Caller(server)
        self.done = done
        self.held = {}
        self.won = {}
        self.commits = {}
        self.seconds = []
        self.rounds = 0
        self.nothing = 0
        self.surprises = []

    def run(self):
        while not self.done.is_set() and not self.surprises:
            for _ in range(PUTS_BEFORE_A_COMMIT):
                self.rounds += 1
                self.put(self.rounds)
            self.claim(self.rounds)
            self.commit(self.rounds)
        self.call.close()

    def put(self, number):
        path = f"{self.name}/{number % PATHS}"
        content = f"{self.name} {number}".encode()
        reply = self.call.put(REPOSITORY, "main", path, content)
        if reply.status == 201:
            self.held[path] = content
        else:
            self.surprises.append(reply)

    def claim(self, number):
        path, content = f"claimed/{number:06}", self.name.encode()
        reply = self.call.put(REPOSITORY, "main", path, content, If_None_Match="*")
        if reply.status == 201:
            self.won[path] = content
        elif reply.status != 412:
            self.surprises.append(reply)

    def commit(self, number):
        began = time.monotonic()
        reply = self.call.commit(REPOSITORY, "main", f"{self.name} {number}")
        self.seconds.append(time.monotonic() - began)
        if reply.status == 201:
            self.commits[reply.json["id"]] = dict(self.held)
        elif reply.status == 400 and reply.message == "commit: no changes":
            self.nothing += 1  # another's commit took in what this writer had uploaded
        else:
            self.surprises.append(reply)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def database(request):
    """A database's connection string, the empty string for SQLite."""
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_database")


@pytest.mark.timeout(3 * MOST_SECONDS)
@pytest.mark.parametrize("seconds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_many_writers_on_one_branch(tmp_path, database, seconds, record_testsuite_property):
    writers = contend(tmp_path, database, seconds)
    check_nothing_failed(writers)
    took = sorted(each for writer in writers for each in writer.seconds)
    record_testsuite_property("commits", len(took))
    record_testsuite_property("commit_p99_seconds", round(took[int(len(took) * 0.99)], 3))
    with lake_of(tmp_path, database) as lake:
        check_history_is_one_line_of_what_was_acknowledged(lake, writers)
        check_each_commit_holds_what_its_writer_had_uploaded(lake, writers)
        check_nothing_goes_back(lake, writers)
        check_the_last_acknowledged_content_is_there(lake, writers)
        check_what_only_one_may_create_has_one_creator(lake, writers)


def contend(data, database, seconds):
    """Lets the writers loose for so long, on a slow machine until they have done enough, and
    returns them when they are done.
    """
    folders, env = ((data / "one", data / "two"), shared_environment(data))
    if not database:
        folders, env = (data, data), {}
    done = threading.Event()
    with (
        running_server(folders[0], database=database, env=env) as one,
        running_server(folders[1], database=database, env=env) as two,
    ):
        Caller(one).make_repository(REPOSITORY)
        writers = [Writer(number, (one, two)[number % 2], done) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        began = time.monotonic()
        while not (time.monotonic() > began + seconds and have_done_enough(writers)):
            assert time.monotonic() < began + MOST_SECONDS, "it came to a stand"
            if any(writer.surprises for writer in writers):
                break
            time.sleep(0.05)
        done.set()
        for writer in writers:
            writer.join()
        # what was uploaded after the last commit
        assert Caller(two).commit(REPOSITORY, "main", "The rest").status in (201, 400)
    return writers


def have_done_enough(writers):
    """Returns whether each has committed and all have committed often."""
    each = all(writer.commits or writer.nothing for writer in writers)
    return each and sum(len(writer.commits) for writer in writers) > WRITERS


def history(lake):
    """Returns the first-parent log of `main`, oldest first."""
    commits, after = [], ""
    while True:
        page = lake.commits.log(REPOSITORY, "main", after=after, amount=1000, first_parent=True)
        commits += page.items
        if not page.has_more:
            return commits[::-1]
        after = page.next_offset


def tree(lake, reference):
    """Returns the checksums of all objects at a reference, by path."""
    return {
        path: entry.checksum
        for path, entry in lake.core.objects.entries(lake.repositories.get(REPOSITORY), reference)
    }


def check_nothing_failed(writers):
    assert [surprise for writer in writers for surprise in writer.surprises] == []


def check_history_is_one_line_of_what_was_acknowledged(lake, writers):
    commits = history(lake)
    for parent, commit in itertools.pairwise(commits):
        assert commit.parents == (parent.id,)
    made = {commit.id for commit in commits[1:] if commit.message != "The rest"}
    assert made == {commit for writer in writers for commit in writer.commits}


def check_each_commit_holds_what_its_writer_had_uploaded(lake, writers):
    for writer in writers:
        for commit, held in writer.commits.items():
            found = tree(lake, commit)
            assert {path: found[path] for path in held} == {
                path: checksum(content) for path, content in held.items()
            }


def check_nothing_goes_back(lake, writers):
    order = {
        checksum(f"{writer.name} {number}".encode()): number
        for writer in writers
        for number in range(1, writer.rounds + 1)
    }
    latest = {}
    for commit in history(lake):
        for path, found in tree(lake, commit.id).items():
            if path.startswith("writer-"):
                assert order[found] >= latest.get(path, 0)
                latest[path] = order[found]


def check_the_last_acknowledged_content_is_there(lake, writers):
    wanted = {path: content for writer in writers for path, content in writer.held.items()}
    found = {
        path: lake.objects.open(REPOSITORY, "main@", path).read_bytes()
        for path in tree(lake, "main@")
        if path.startswith("writer-")
    }
    assert found == wanted


def check_what_only_one_may_create_has_one_creator(lake, writers):
    claims = [claim for writer in writers for claim in writer.won.items()]
    assert len(claims) == len(dict(claims)) > 0
    found = {
        path: lake.objects.open(REPOSITORY, "main@", path).read_bytes()
        for path in tree(lake, "main@")
        if path.startswith("claimed/")
    }
    assert found == dict(claims)
