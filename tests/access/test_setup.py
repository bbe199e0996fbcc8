"""Setup happens once, however many try."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from anabranch.access.credentials import KeyPair
from anabranch.errors import AlreadyExists, Invalid
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.sqlite import SQLiteStore
from anabranch.model.secret import Secret

QUICKSTART = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))


def test_setup_makes_an_administrator(house):
    assert not house.setup.is_done()
    credential = house.setup.run("admin")
    assert house.setup.is_done()
    assert house.users.get("admin").created_at == house.now
    assert house.users.get("admin").email == ""
    assert house.credentials.find(credential.access_key_id) == credential
    assert house.store.get("auth", b"installation_metadata/setup_timestamp") == (
        b"2023-11-14T22:13:20Z"
    )


def test_setup_takes_keys(house):
    assert house.setup.run("quickstart", QUICKSTART).secret == QUICKSTART.secret


def test_a_second_setup_is_refused_and_changes_nothing(house):
    house.setup.run("admin")
    before = list(house.store.scan("basicAuth"))
    with pytest.raises(AlreadyExists, match=r"^lakeFS already initialized$"):
        house.setup.run("other", QUICKSTART)
    assert list(house.store.scan("basicAuth")) == before


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("", None),
        ("a%", None),
        ("a", KeyPair("", Secret("12345678"))),
        ("a", KeyPair("key", Secret("x"))),
    ],
)
def test_bad_input_changes_nothing(house, name, pair):
    with pytest.raises(Invalid):
        house.setup.run(name, pair)
    assert not house.setup.is_done()
    assert house.users.all() == []


def test_settings_count_once(house):
    assert house.setup.ensure("quickstart", QUICKSTART)
    assert not house.setup.ensure("other", KeyPair("", Secret("")))
    assert [user.username for user in house.users.all()] == ["quickstart"]


def test_of_many_servers_one_sets_up(house_over):
    for _ in range(20):
        store, servers = MemoryStore(), 8
        houses = [house_over(store) for _ in range(servers)]
        barrier = Barrier(servers)

        def work(number, houses=houses, barrier=barrier):
            barrier.wait()
            try:
                return houses[number].setup.run(f"admin-{number}")
            except AlreadyExists:
                return None

        with ThreadPoolExecutor(servers) as pool:
            made = [one for one in pool.map(work, range(servers)) if one is not None]
        assert len(made) == 1
        assert [user.username for user in houses[0].users.all()] == [made[0].username]
        assert houses[0].credentials.find(made[0].access_key_id) == made[0]
        assert len(list(store.scan("basicAuth"))) == 2


SERVER = """
import sys
from anabranch.access.access import Access
from anabranch.errors import AlreadyExists
from anabranch.keyvalue.sqlite import SQLiteStore
from anabranch.model.secret import Secret

name, *databases = sys.argv[1:]
houses = [Access(SQLiteStore(database), Secret("key")) for database in databases]
print("ready", flush=True)
for house in houses:
    sys.stdin.readline()
    try:
        print(house.setup.run(name).access_key_id, house.setup.installation_id(), flush=True)
    except AlreadyExists:
        print("-", house.setup.installation_id(), flush=True)
"""


def test_of_many_processes_one_sets_up(tmp_path, house_over):
    databases = [tmp_path / f"{number}.db" for number in range(6)]
    servers = [
        subprocess.Popen(
            [sys.executable, "-c", SERVER, name, *map(str, databases)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for name in ("ada", "bob", "eve")
    ]
    assert {server.stdout.readline() for server in servers} == {"ready\n"}
    for database in databases:
        for server in servers:
            server.stdin.write("go\n")
            server.stdin.flush()
        said = [server.stdout.readline().split() for server in servers]
        made = [key for key, _ in said if key != "-"]
        assert len(made) == 1
        assert len({installation for _, installation in said}) == 1
        store = SQLiteStore(database)
        keys = [key for key, _ in store.scan("basicAuth", end=b"users/")]
        assert keys == [f"uCredentials/superAdmin/credentials/{made[0]}".encode()]
        assert len(house_over(store).users.all()) == 1
        store.close()
    for server in servers:
        server.communicate(timeout=60)
        assert server.returncode == 0


class LateStore:
    """A store in which another server sets up between our look and our write."""

    def __init__(self, store):
        self._store = store
        self.meanwhile = None

    def apply(self, writes, expect=()):
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return self._store.apply(writes, expect)

    def __getattr__(self, name):
        return getattr(self._store, name)


def test_who_comes_second_between_look_and_write_is_told(house_over):
    store = MemoryStore()
    late = LateStore(store)
    late.meanwhile = lambda: house_over(store).setup.run("first")
    with pytest.raises(AlreadyExists):
        house_over(late).setup.run("second")
    late.meanwhile = None
    assert not house_over(late).setup.ensure("second", QUICKSTART)
    assert [user.username for user in house_over(store).users.all()] == ["first"]


def test_the_installation_has_one_identifier(house, house_over):
    first = house.setup.installation_id()
    assert first == house.setup.installation_id() == house_over(house.store).setup.installation_id()
    assert house.store.get("auth", b"installation_id") == first.encode()


def test_the_identifier_of_whoever_came_first_counts(house_over):
    store = MemoryStore()
    late = LateStore(store)
    seen = []
    late.meanwhile = lambda: seen.append(house_over(store).setup.installation_id())
    other = house_over(late)
    other.setup._new_id = lambda: "mine"
    assert other.setup.installation_id() == seen[0] != "mine"
