"""Servers of one database have equal settings, or report the differences."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.errors import Corrupt, Invalid
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.secret import Secret
from anabranch.server.config.field import build, declared
from anabranch.server.installation.shared_settings import adopt_settings, require_shared_settings
from anabranch.testing.server import running_server, shared_environment
from anabranch.testing.stores import FaultyStore

SHARED = {
    "auth.encrypt.secret_key": Secret("encrypts"),
    "blockstore.azure.storage_account": "",
    "blockstore.s3.endpoint": "",
    "blockstore.signing.secret_key": Secret("signs"),
    "blockstore.local.path": Path("/srv/block"),
    "blockstore.type": "local",
    "database.type": "postgres",
}


def check(store, **changed):
    settings = build(SHARED | {name.replace("__", "."): value for name, value in changed.items()})
    require_shared_settings(settings, store, os.urandom)


def differences(store, **changed):
    """Returns the differences for which a server does not start."""
    with pytest.raises(Invalid) as caught:
        check(store, **changed)
    assert caught.value.kind == "different_settings"
    return caught.value.message.partition("its database: ")[2]


@pytest.fixture
def store():
    """The store of a database on which one server was started."""
    store = MemoryStore()
    check(store)
    return store


def test_shared_settings_are_keys_and_locations_of_objects():
    shared = {name for name, setting in declared().items() if setting.doc.shared}
    assert shared == SHARED.keys() - {"database.type"}


def test_servers_with_equal_settings_start(store):
    before = list(store.scan("anabranch"))
    for _ in range(3):
        check(store)
    assert list(store.scan("anabranch")) == before


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("auth__encrypt__secret_key", Secret("other"), "auth.encrypt.secret_key differs"),
        (
            "blockstore__signing__secret_key",
            Secret("other"),
            "blockstore.signing.secret_key differs",
        ),
        (
            "blockstore__local__path",
            Path("/mnt/block"),
            "blockstore.local.path is '/mnt/block' here and '/srv/block' in the database",
        ),
        ("blockstore__type", "mem", "blockstore.type is 'mem' here and 'local' in the database"),
    ],
)
def test_each_difference_is_reported(store, name, value, message):
    before = list(store.scan("anabranch"))
    assert differences(store, **{name: value}) == message
    assert list(store.scan("anabranch")) == before
    check(store)


def test_all_differences_are_reported_together(store):
    message = differences(
        store, auth__encrypt__secret_key=Secret("other"), blockstore__local__path=Path("/other")
    )
    assert message.split("; ") == [
        "blockstore.local.path is '/other' here and '/srv/block' in the database",
        "auth.encrypt.secret_key differs",
    ]


def test_other_settings_may_differ(store):
    check(store, workers=4, auth__login_duration=1.0, data=Path("/elsewhere"))


def test_a_local_installation_may_be_moved():
    store = MemoryStore()
    check(store, database__type="local")
    check(store, database__type="local", blockstore__local__path=Path("/moved"))
    differences(store, database__type="local", auth__encrypt__secret_key=Secret("other"))


def test_secrets_are_recorded_as_salted_digests(store):
    other = MemoryStore()
    check(other)
    (one,), (two,) = ([value for _, value in each.scan("anabranch")] for each in (store, other))
    assert b"encrypts" not in one
    assert b"signs" not in one
    assert not set(one.split(b'"')) & {word for word in two.split(b'"') if b"sha256" in word}


def test_servers_of_versions_with_different_shared_settings_start(store):
    ((key, value),) = store.scan("anabranch")
    earlier = value.replace(b'"blockstore.type":"local",', b"")
    assert earlier != value
    store.apply([Write("anabranch", key, earlier)])
    check(store)
    assert differences(store, blockstore__type="mem"), "the later version has recorded it"
    later = value.replace(b'"values":{', b'"values":{"blockstore.colour":"blue",')
    store.apply([Write("anabranch", key, later)])
    check(store)
    assert list(store.scan("anabranch")) == [(key, later)]


def test_one_of_two_different_servers_that_start_at_the_same_time_is_refused():
    inner = MemoryStore()
    others = iter([lambda: check(inner, auth__encrypt__secret_key=Secret("other"))])

    def before(step, _partition):
        if step == "apply":
            next(others, lambda: None)()

    assert differences(FaultyStore(inner, before)) == "auth.encrypt.secret_key differs"


def test_a_damaged_record_raises_corrupt_until_settings_are_adopted(store):
    ((key, _),) = store.scan("anabranch")
    store.apply([Write("anabranch", key, b"{")])
    with pytest.raises(Corrupt, match="cannot be read"):
        check(store)
    assert adopt_settings(build(SHARED), store, os.urandom) == []
    check(store)


def test_adopting_settings_reports_the_differences(store):
    settings = build(SHARED | {"blockstore.local.path": Path("/new")})
    assert adopt_settings(settings, store, os.urandom) == [
        "blockstore.local.path is '/new' here and '/srv/block' in the database"
    ]
    assert adopt_settings(settings, store, os.urandom) == []
    differences(store)


@pytest.mark.slow
def test_a_server_with_different_keys_does_not_start_until_shared_keys_are_adopted(
    postgres_database, tmp_path
):
    first, second = tmp_path / "first", tmp_path / "second"
    block = {"ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(tmp_path / "block")}
    env = {"database": postgres_database, "env": block}
    with running_server(first, **env):
        with pytest.raises(AssertionError) as caught, running_server(second, **env):
            pass
        output = str(caught.value)
        assert "auth.encrypt.secret_key differs" in output
        assert "blockstore.signing.secret_key differs" in output
        assert "Traceback" not in output
        assert "--adopt" in output
    common = shared_environment(tmp_path)
    command = [sys.executable, "-m", "anabranch", "migrate", "--data", str(second), "--adopt"]
    database = {
        "ANABRANCH_DATABASE_TYPE": "postgres",
        "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": postgres_database,
    }
    done = subprocess.run(
        command, env=os.environ | database | common, capture_output=True, text=True, check=True
    )
    assert done.stdout == "The database is up to date, schema version 4\n"
    assert "changed: auth.encrypt.secret_key differs" in done.stderr
    for data in (first, second):
        with running_server(data, database=postgres_database, env=common):
            pass
