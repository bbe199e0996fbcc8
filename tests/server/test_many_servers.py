"""Three servers that share nothing but a database and the folder of objects, one or the other
killed now and then: nothing acknowledged is lost, nothing is done twice, nothing fails unsaid.
"""

from __future__ import annotations

import http.client
import itertools
import random
import threading
import time
from contextlib import ExitStack
from typing import NamedTuple

import pytest
from support.clients.no_retry_client import Caller
from support.services.postgres import running_cluster

from anabranch.errors import NotFound
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.testing.lake import lake_of
from anabranch.testing.server import running_server, shared_environment

SERVERS = 3
WRITERS = 32
MERGERS = 8
PATHS = 4
REPOSITORY = "sea"
BRANCHES = ("main", "trunk")
BASE = f"/repositories/{REPOSITORY}"
PAUSE_SECONDS = 0.05
PROGRESS = 20
PATIENCE_SECONDS = 100


class Machine:
    """A place where a server runs, is killed and started again; `server` is None meanwhile."""

    def __init__(self, data, database, env):
        self.data = data
        self.settings = {"database": database, "env": env}
        self.stack = ExitStack()
        self.start()

    def start(self):
        self.server = self.stack.enter_context(running_server(self.data, **self.settings))

    def kill(self):
        server, self.server = self.server, None
        server.process.kill()
        server.process.wait()


class Unknown(Exception):
    """Whether it was done is unknown."""


class Refused(Exception):
    """It was not done, and was said not to be."""


class Attempt(NamedTuple):
    """A commit or merge: its message, its id if it was acknowledged, and what was known then."""

    message: str
    id: str
    held: dict[str, set[bytes]]


class Client(threading.Thread):
    """Asks a random server each time. `attempts` are the commits on the common branch that were
    acknowledged, and those that may have been made.
    """

    branch = "main"

    def __init__(self, number, machines, done):
        super().__init__(name=f"{type(self).__name__.lower()}-{number:02}")
        self.machines = machines
        self.done = done
        self.random = random.Random(number)
        self.callers = {}
        self.attempts = []
        self.acknowledged = 0
        self.number = 0
        self.surprises = []

    def run(self):
        while not self.done.is_set() and not self.surprises:
            self.number += 1
            try:
                self.turn()
            except (Unknown, Refused):
                time.sleep(PAUSE_SECONDS)
        for caller in self.callers.values():
            caller.close()

    def ask(self, expected, *request):
        """Returns the reply to a request that was done; raises Refused or Unknown."""
        server = self.random.choice(self.machines).server
        if server is None:
            raise Refused
        caller = self.callers.setdefault(server, Caller(server, timeout=PATIENCE_SECONDS))
        try:
            reply = caller(*request)
        except ConnectionRefusedError:
            raise Refused from None
        except (OSError, http.client.HTTPException):
            raise Unknown from None
        if reply.status == expected:
            self.acknowledged += 1
            return reply
        if reply.status == 503:
            raise Unknown if reply.outcome_unknown else Refused
        if not self.is_expected(reply):
            self.surprises.append(reply)
        raise Refused

    def is_expected(self, _reply):
        return False

    def put(self, branch, path, content):
        where = f"{BASE}/branches/{branch}/objects?path={path}"
        self.ask(201, "POST", where, content)

    def commit(self, branch):
        where = f"{BASE}/branches/{branch}/commits"
        return self.ask(201, "POST", where, {"message": self.message}).json["id"]

    @property
    def message(self):
        return f"{self.name} {self.number}"

    def attempt(self, act, held):
        """Does what moves the common branch, and notes what has become of it."""
        found = ""
        try:
            found = act()
        except Refused:
            return
        except Unknown:
            self.attempts.append(Attempt(self.message, "", held))
            raise
        self.attempts.append(Attempt(self.message, found, held))


class Writer(Client):
    """Uploads to paths of its own on `main` and commits there. `possible` has what each path may
    hold: what was acknowledged last, and what was ever of unknown outcome.
    """

    def __init__(self, *given):
        super().__init__(*given)
        self.certain = {}
        self.unknown = {}

    def turn(self):
        path, content = f"{self.name}/{self.number % PATHS}", self.message.encode()
        try:
            self.put("main", path, content)
        except Unknown:
            self.unknown.setdefault(path, {None}).add(content)
            raise
        self.certain[path] = content
        if self.number % PATHS == 0:
            self.attempt(lambda: self.commit("main"), self.possible())

    def possible(self):
        return {
            path: self.unknown.get(path, set()) | {self.certain.get(path)}
            for path in self.certain.keys() | self.unknown.keys()
        }

    def is_expected(self, reply):
        return reply.status == 400 and reply.message == "commit: no changes"


class Merger(Client):
    """Merges branches of its own into `trunk`."""

    branch = "trunk"

    def turn(self):
        branch = self.message.replace(" ", "-")
        content = branch.encode()
        self.ask(201, "POST", f"{BASE}/branches", {"name": branch, "source": "trunk"})
        self.put(branch, branch, content)
        self.commit(branch)
        self.attempt(lambda: self.merge(branch), {branch: {content}})

    def merge(self, branch):
        where = f"{BASE}/refs/{branch}/merge/trunk"
        return self.ask(200, "POST", where, {"message": self.message}).json["reference"]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seconds", [5, pytest.param(240, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_servers_and_their_database_are_killed_at_random(
    tmp_path, seconds, seed, record_testsuite_property
):
    with running_cluster() as cluster, ExitStack() as stack:
        url = cluster.url(cluster.make_database())
        PostgresDatabase(url).migrate()
        env = shared_environment(tmp_path)
        machines = []
        for number in range(SERVERS):
            machines.append(Machine(tmp_path / f"{number}", url, env))
            stack.push(machines[-1].stack)
        prepare(machines[0].server)
        clients = contend(machines, cluster, seconds, random.Random(seed))
        assert [surprise for client in clients for surprise in client.surprises] == []
        Caller(machines[1].server).commit(REPOSITORY, "main", "The rest")
        with lake_of(tmp_path, url) as lake:
            for branch in BRANCHES:
                check_history(lake, branch, [each for each in clients if each.branch == branch])
            for client in clients:
                if isinstance(client, Writer):
                    check_holds(lake, "main@", client.possible())
    record_testsuite_property("acknowledged", sum(each.acknowledged for each in clients))


def prepare(server):
    call = Caller(server)
    call.make_repository(REPOSITORY)
    assert call("POST", f"{BASE}/branches", {"name": "trunk", "source": "main"}).status == 201


def contend(machines, cluster, seconds, chance):
    """Lets the clients loose on the machines, kills what chance says, and returns the clients when
    they are done.
    """
    done = threading.Event()
    kinds = [Merger] * MERGERS + [Writer] * (WRITERS - MERGERS)
    clients = [kind(number, machines, done) for number, kind in enumerate(kinds)]
    end = time.monotonic() + seconds
    victims = [*machines, cluster]
    for client in clients:
        client.start()
    try:
        once = chance.sample(victims, len(victims))
        while once or time.monotonic() < end:
            await_progress(clients)
            victim = once.pop() if once else chance.choice(victims)
            time.sleep(chance.uniform(0, 0.5))
            victim.kill()
            time.sleep(chance.uniform(0, 0.5))
            victim.start()
        await_progress(clients)
    finally:
        done.set()
        for client in clients:
            client.join()
    return clients


def await_progress(clients):
    """Waits until so many more requests have been acknowledged, commits and merges among them."""

    def state():
        made = [sum(len(each.attempts) for each in clients if each.branch == b) for b in BRANCHES]
        return sum(client.acknowledged for client in clients), *made

    before, deadline = state(), time.monotonic() + PATIENCE_SECONDS
    wanted = [before[0] + PROGRESS, before[1] + 1, before[2] + 1]
    while any(now < then for now, then in zip(state(), wanted, strict=True)):
        assert time.monotonic() < deadline, "it came to a stand"
        assert not any(client.surprises for client in clients)
        time.sleep(0.02)


def check_history(lake, branch, clients):
    """Checks that a branch has one line of history, of all that was acknowledged in the order of
    each client, of what may have been made, and of nothing else; and nothing twice.
    """
    line = first_parents(lake, branch)
    for parent, commit in itertools.pairwise(line):
        assert commit.parents[0] == parent.id
        assert len(commit.parents) == (1 if branch == "main" else 2)
    place = {commit.id: number for number, commit in enumerate(line)}
    messages = [commit.message for commit in line[1:] if commit.message != "The rest"]
    assert len(set(messages)) == len(messages), "none was made twice"
    attempts = [attempt for client in clients for attempt in client.attempts]
    assert set(messages) <= {attempt.message for attempt in attempts}, "none was refused"
    for client in clients:
        made = [attempt for attempt in client.attempts if attempt.id]
        places = [place[attempt.id] for attempt in made]
        assert places == sorted(places)
        for attempt in made:
            assert line[place[attempt.id]].message == attempt.message
            check_holds(lake, attempt.id, attempt.held)


def first_parents(lake, branch):
    """Returns the line of a branch's commits, oldest first."""
    page = lake.commits.log(REPOSITORY, branch, amount=100_000, first_parent=True)
    assert not page.has_more
    return page.items[::-1]


def check_holds(lake, reference, possible):
    for path, contents in possible.items():
        try:
            found = lake.objects.open(REPOSITORY, reference, path).read_bytes()
        except NotFound:
            found = None
        assert found in contents, (reference, path)
