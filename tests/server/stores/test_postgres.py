"""Servers on PostgreSQL: their setup, and their responses while the database is down."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time

import httpx2
import pytest
from support.clients.no_retry_client import Caller
from support.services.postgres import running_cluster
from support.session.forked_python import forked_python
from support.session.service_fixtures import new_database

from anabranch.errors import NotFound, OutcomeUnknown
from anabranch.testing.lake import lake_of
from anabranch.testing.server import running_server

REPOSITORY = "sea"
WRITERS = 8
PATHS = 4


def run(*words, **settings):
    """Runs a command of ours and returns its exit code and both outputs together."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ANABRANCH_")}
    done = subprocess.run(
        [forked_python(), "-m", "anabranch", *words],
        env=clean | {f"ANABRANCH_DATABASE_{name}": value for name, value in settings.items()},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_database_is_migrated_and_then_served(postgres_cluster, tmp_path):
    url = postgres_cluster.url(postgres_cluster.make_database())
    settings = {"TYPE": "postgres", "POSTGRES_CONNECTION_STRING": url}
    data = str(tmp_path)
    code, said = run("serve", "--data", data, "--listen", "127.0.0.1:0", **settings)
    assert code == 1
    assert "anabranch migrate" in said
    code, said = run("migrate", "--data", data, **settings)
    assert (code, said) == (0, "Created the database's tables, schema version 4\n")
    code, said = run("migrate", "--data", data, **settings)
    assert (code, said) == (0, "The database is up to date, schema version 4\n")
    with running_server(tmp_path, database=url) as server:
        call = Caller(server)
        call.make_repository(REPOSITORY)
        assert call.put(REPOSITORY, "main", "a", b"1").status == 201
        log = server.log.read_text()
    with running_server(tmp_path / "elsewhere", database=url, env=shared(tmp_path)) as server:
        assert Caller(server).get(REPOSITORY, "main", "a").body == b"1"
    assert "known-to-every-test" not in log


def shared(folder):
    """Returns the settings that a server elsewhere must share with the one over a folder."""
    return {
        "ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(folder / "block"),
        "ANABRANCH_AUTH_ENCRYPT_SECRET_KEY": (folder / "keys" / "encrypt").read_text().strip(),
        "ANABRANCH_BLOCKSTORE_SIGNING_SECRET_KEY": (folder / "keys" / "signing")
        .read_text()
        .strip(),
    }


def test_a_local_database_needs_no_migration(tmp_path):
    code, said = run("migrate", "--data", str(tmp_path))
    assert (code, said) == (0, "There is nothing to migrate: the database is of type local\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["serve", "migrate"])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs database.postgres.connection_string"),
        ({"POSTGRES_CONNECTION_STRING": "colour=blue"}, "is not a connection string"),
        ({"POSTGRES_CONNECTION_STRING": "postgres://u:hidden@127.0.0.1:1/d"}, "refused"),
        (
            {"POSTGRES_CONNECTION_STRING": "postgres://", "POSTGRES_MAX_OPEN_CONNECTIONS": "0"},
            "max_open_connections must be at least 1",
        ),
    ],
)
@pytest.mark.sample(2)
def test_invalid_settings_are_reported(tmp_path, command, settings, words):
    code, said = run(command, "--data", str(tmp_path), TYPE="postgres", **settings)
    assert code == 1
    assert words in said
    assert "hidden" not in said
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def mortal():
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def url(mortal):
    return new_database(mortal)


@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_while_the_database_is_down_requests_get_503_with_retry_after(
    mortal, url, tmp_path, seconds
):
    with running_server(tmp_path, database=url) as server:
        call = Caller(server)
        call.make_repository(REPOSITORY)
        assert call.put(REPOSITORY, "main", "a", b"1").status == 201
        mortal.stop()
        end = time.monotonic() + seconds
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            objects = f"/repositories/{REPOSITORY}/branches/main/objects"
            commits = f"/repositories/{REPOSITORY}/branches/main/commits"
            while time.monotonic() < end:
                for reply in (
                    api.get(f"/repositories/{REPOSITORY}/refs/main/objects?path=a"),
                    api.post(objects, params={"path": "a"}, content=b"2"),
                    api.post(commits, json={"message": "never"}),
                ):
                    assert reply.status_code == 503, reply.text
                    assert reply.headers["Retry-After"]
                    kind = reply.headers["X-Anabranch-Kind"]
                    assert kind != OutcomeUnknown.kind, "it was not even sent"
            assert api.get("/healthcheck").status_code == 204
        mortal.start()
        deadline = time.monotonic() + 60
        while (reply := call.get(REPOSITORY, "main", "a")).status == 503:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert reply.body == b"1", "what was refused was not done"
        assert call.put(REPOSITORY, "main", "a", b"3").status == 201
        assert call.commit(REPOSITORY, "main", "After").status == 201


class Writer(threading.Thread):
    """Uploads to paths of its own and commits, whatever it is answered. `possible` has what each
    path may hold: the last content that was acknowledged, and what was said to be unknown since.
    """

    def __init__(self, number, servers, done):
        super().__init__(name=f"writer-{number}")
        self.calls = [Caller(server) for server in servers]
        self.random = random.Random(number)
        self.done = done
        self.possible = {}
        self.commits = []
        self.acknowledged = 0
        self.surprises = []

    def run(self):
        number = 0
        while not self.done.is_set() and not self.surprises:
            number += 1
            self.put(f"{self.name}/{number % PATHS}", f"{self.name} {number}".encode())
            if number % 4 == 0:
                self.commit(number)

    def put(self, path, content):
        reply = self.random.choice(self.calls).put(REPOSITORY, "main", path, content)
        if reply.status == 201:
            self.possible[path] = {content}
            self.acknowledged += 1
        elif reply.status == 503 and reply.outcome_unknown:
            self.possible.setdefault(path, {None}).add(content)
        elif reply.status != 503:
            self.surprises.append(reply)

    def commit(self, number):
        reply = self.random.choice(self.calls).commit(REPOSITORY, "main", f"{self.name} {number}")
        if reply.status == 201:
            self.commits.append(reply.json["id"])
        elif reply.status != 503 and "no changes" not in reply.message:
            self.surprises.append(reply)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("deaths", [2, pytest.param(15, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_killing_the_database_neither_loses_nor_duplicates_writes(mortal, url, tmp_path, deaths):
    done = threading.Event()
    with (
        running_server(tmp_path, database=url) as one,
        running_server(tmp_path, database=url) as two,
    ):
        Caller(one).make_repository(REPOSITORY)
        writers = [Writer(number, (one, two), done) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        for _ in range(deaths):
            await_progress(writers)
            mortal.kill()
            mortal.start()
        await_progress(writers)
        done.set()
        for writer in writers:
            writer.join()
        assert [surprise for writer in writers for surprise in writer.surprises] == []
        deadline = time.monotonic() + 120
        # the uploads that were acknowledged last may all have gone to the other server
        while Caller(two).commit(REPOSITORY, "main", "The rest").status not in (201, 400):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    with lake_of(tmp_path, url) as lake:
        log = lake.commits.log(REPOSITORY, "main", amount=1000).items
        assert all(len(commit.parents) <= 1 for commit in log), "one line"
        assert {each for writer in writers for each in writer.commits} <= {one.id for one in log}
        for writer in writers:
            for path, possible in writer.possible.items():
                assert content(lake, path) in possible, path


def await_progress(writers):
    """Waits until as many uploads as there are writers have been acknowledged."""
    before, deadline = sum(writer.acknowledged for writer in writers), time.monotonic() + 120
    while sum(writer.acknowledged for writer in writers) < before + WRITERS:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def content(lake, path):
    try:
        return lake.objects.open(REPOSITORY, "main@", path).read_bytes()
    except NotFound:
        return None
