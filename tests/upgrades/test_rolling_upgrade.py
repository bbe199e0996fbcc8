"""Servers of an earlier version and of this one, over the same records: through an upgrade of one
server after another no request is lost, and the earlier version can return.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import ExitStack, contextmanager

import httpx2
import pytest
from support.eventually import eventually
from upgrades.conftest import WRITTEN
from upgrades.earlier_version import package_of

from anabranch.testing.server import running_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

COMMITS = sorted({folder.name.split("-")[3] for folder in WRITTEN.iterdir()})
CLIENTS = 4
REQUESTS = 60
"""How many a client has answered, at least, between two steps of the upgrade."""


class Balancer:
    """Sends each request to one of the servers that are in rotation. One that leaves it completes
    what it has: so a proxy, or an orchestrator, takes servers out before it stops them.
    """

    def __init__(self):
        self._servers = []
        self._turn = itertools.count()
        self.answered = 0

    def add(self, server):
        self._servers = [*self._servers, server]

    def leave(self, server):
        self._servers = [each for each in self._servers if each is not server]

    def request(self, method, path, **options):
        """Returns the response of a server; each request has a connection of its own."""
        servers = self._servers
        server = servers[next(self._turn) % len(servers)]
        response = httpx2.request(
            method, f"{server.api}{path}", auth=server.auth, timeout=60, **options
        )
        self.answered += 1
        return response


class Client(threading.Thread):
    """Puts, commits, merges and tags by turns, and keeps what was acknowledged."""

    def __init__(self, balancer, number):
        super().__init__()
        self.number = number
        self.balancer = balancer
        self.ends = threading.Event()
        self.wrong = []
        self.objects = {}
        self.tags = {}

    def run(self):
        try:
            for turn in itertools.count():
                self.one_turn(f"{self.number}-{turn}")
                if self.ends.is_set():
                    return
        except Exception as error:  # noqa: BLE001  the test says what it was
            self.wrong.append(repr(error))

    def one_turn(self, name):
        branch, content = f"dev-{name}", name.encode()
        self.call("POST", "/branches", json={"name": branch, "source": "main"})
        self.call("POST", f"/branches/{branch}/objects", params={"path": name}, content=content)
        got = self.call("GET", f"/refs/{branch}/objects", params={"path": name})
        assert got.content == content
        self.call("POST", f"/branches/{branch}/commits", json={"message": name})
        merged = self.call("POST", f"/refs/{branch}/merge/main", json={})
        self.objects[name] = content
        reference = merged.json()["reference"]
        self.call("POST", "/tags", json={"id": f"v{name}", "ref": reference})
        self.tags[f"v{name}"] = reference
        self.call("DELETE", f"/branches/{branch}")

    def call(self, method, path, **options):
        response = self.balancer.request(method, f"/repositories/sea{path}", **options)
        assert response.is_success, (method, path, response.status_code, response.text)
        return response


@contextmanager
def clients_at_work(balancer):
    """Runs clients; yields the function that waits until each has done something more."""
    clients = [Client(balancer, number) for number in range(CLIENTS)]
    for client in clients:
        client.start()

    def go_on():
        before = balancer.answered
        eventually(lambda: balancer.answered > before + REQUESTS or wrong())
        assert wrong() == []

    def wrong():
        return [problem for client in clients for problem in client.wrong]

    try:
        yield clients, go_on
    finally:
        for client in clients:
            client.ends.set()
        for client in clients:
            client.join()
    assert wrong() == []


@pytest.fixture(params=COMMITS)
def earlier(request):
    """The package of an earlier version."""
    package = package_of(request.param)
    if package is None:
        pytest.skip("the history of this checkout does not have that version, or there is no Rust")
    return package


@pytest.mark.parametrize("store", ["folder", "postgres"])
def test_no_request_is_lost_through_a_rolling_upgrade_and_back(request, tmp_path, earlier, store):
    database = ""
    if store == "postgres":
        database = request.getfixturevalue("postgres_database")
    balancer = Balancer()
    with ExitStack() as stack:

        def start(source):
            own = ExitStack()
            stack.callback(own.close)
            server = own.enter_context(
                running_server(tmp_path, database=database, source=source, fresh=True)
            )
            balancer.add(server)
            return server

        def replace(server, source):
            """Stops a server while it has requests, and then starts another."""
            balancer.leave(server)
            server.stop()
            return start(source)

        first, second = start(earlier), start(earlier)
        sea = {"name": "sea", "storage_namespace": "local://sea"}
        made = httpx2.post(f"{first.api}/repositories", json=sea, auth=first.auth, timeout=60)
        assert made.status_code == 201
        with clients_at_work(balancer) as (clients, go_on):
            go_on()
            for source in (None, earlier, None):  # up, down again, and up
                for place in (0, 1):
                    old = (first, second)[place]
                    new = replace(old, source)
                    first, second = (new, second) if place == 0 else (first, new)
                    go_on()
        objects, tags = {}, {}
        for client in clients:
            objects |= client.objects
            tags |= client.tags
        assert len(tags) > CLIENTS
        url = f"{first.api}/repositories/sea"
        with httpx2.Client(base_url=url, auth=first.auth, timeout=60) as api:
            for path, content in objects.items():
                assert api.get("/refs/main/objects", params={"path": path}).content == content
            for name, reference in tags.items():
                assert api.get(f"/tags/{name}").json()["commit_id"] == reference
