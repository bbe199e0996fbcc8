"""Setup happens once, also with concurrent callers."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from anabranch.access.credentials.credentials import KeyPair
from anabranch.errors import AlreadyExists, Invalid
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.model.secret import Secret

QUICKSTART = KeyPair("AKIAIOSFOLQUICKSTART", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))


def test_setup_makes_an_administrator(installation):
    assert not installation.setup.is_done()
    credential = installation.setup.run("admin")
    assert installation.setup.is_done()
    assert installation.users.get("admin").created_at == installation.now
    assert installation.users.get("admin").email == ""
    assert installation.credentials.find(credential.access_key_id) == credential
    assert installation.store.get("auth", b"installation_metadata/setup_timestamp") == (
        b"2023-11-14T22:13:20Z"
    )


def test_setup_takes_keys(installation):
    assert installation.setup.run("quickstart", QUICKSTART).secret == QUICKSTART.secret


def test_second_setup_raises_and_changes_nothing(installation):
    installation.setup.run("admin")
    before = list(installation.store.scan("basicAuth"))
    with pytest.raises(AlreadyExists, match=r"^lakeFS already initialized$"):
        installation.setup.run("other", QUICKSTART)
    assert list(installation.store.scan("basicAuth")) == before


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("", None),
        ("a%", None),
        ("a", KeyPair("", Secret("12345678"))),
        ("a", KeyPair("key", Secret("x"))),
    ],
)
def test_bad_input_changes_nothing(installation, name, pair):
    with pytest.raises(Invalid):
        installation.setup.run(name, pair)
    assert not installation.setup.is_done()
    assert installation.users.page("", "", 100).items == []


def test_installation_settings_apply_once(installation):
    assert installation.setup.ensure("quickstart", QUICKSTART)
    assert not installation.setup.ensure("other", KeyPair("", Secret("")))
    assert [user.username for user in installation.users.page("", "", 100).items] == ["quickstart"]


def test_one_of_many_concurrent_servers_sets_up(installation_over):
    for _ in range(20):
        store, count = MemoryStore(), 8
        servers = [installation_over(store) for _ in range(count)]
        barrier = Barrier(count)

        def set_up(number, servers=servers, barrier=barrier):
            barrier.wait()
            try:
                return servers[number].setup.run(f"admin-{number}")
            except AlreadyExists:
                return None

        with ThreadPoolExecutor(count) as pool:
            made = [one for one in pool.map(set_up, range(count)) if one is not None]
        assert len(made) == 1
        assert [user.username for user in servers[0].users.page("", "", 100).items] == [
            made[0].username
        ]
        assert servers[0].credentials.find(made[0].access_key_id) == made[0]
        assert len(list(store.scan("basicAuth"))) == 2


SERVER = """
import sys
from anabranch.access.access import Access
from anabranch.errors import AlreadyExists
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.model.secret import Secret

name, *databases = sys.argv[1:]
installations = [Access(SQLiteStore(database), Secret("key")) for database in databases]
print("ready", flush=True)
for installation in installations:
    sys.stdin.readline()
    try:
        credential = installation.setup.run(name)
        print(credential.access_key_id, installation.setup.installation_id(), flush=True)
    except AlreadyExists:
        print("-", installation.setup.installation_id(), flush=True)
"""


@pytest.mark.slow
def test_one_of_many_concurrent_processes_sets_up(tmp_path, installation_over):
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
        lines = [server.stdout.readline().split() for server in servers]
        made = [key for key, _ in lines if key != "-"]
        assert len(made) == 1
        assert len({installation for _, installation in lines}) == 1
        store = SQLiteStore(database)
        keys = [key for key, _ in store.scan("basicAuth", end=b"users/")]
        assert keys == [f"uCredentials/superAdmin/credentials/{made[0]}".encode()]
        assert len(installation_over(store).users.page("", "", 100).items) == 1
        store.close()
    for server in servers:
        server.communicate(timeout=60)
        assert server.returncode == 0


class LateStore:
    """A store in which another server sets up between its read and its write."""

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


def test_concurrent_setup_raises_already_exists(installation_over):
    store = MemoryStore()
    late = LateStore(store)
    late.meanwhile = lambda: installation_over(store).setup.run("first")
    with pytest.raises(AlreadyExists):
        installation_over(late).setup.run("second")
    late.meanwhile = None
    assert not installation_over(late).setup.ensure("second", QUICKSTART)
    assert [user.username for user in installation_over(store).users.page("", "", 100).items] == [
        "first"
    ]


def test_the_installation_has_one_identifier(installation, installation_over):
    first = installation.setup.installation_id()
    assert first == installation.setup.installation_id()
    assert first == installation_over(installation.store).setup.installation_id()
    assert installation.store.get("auth", b"installation_id") == first.encode()


def test_first_installation_id_wins(installation_over):
    store = MemoryStore()
    late = LateStore(store)
    seen = []
    late.meanwhile = lambda: seen.append(installation_over(store).setup.installation_id())
    other = installation_over(late)
    other.setup._new_id = lambda: "mine"
    assert other.setup.installation_id() == seen[0] != "mine"
