"""Each check reports real faults and leaves no files."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import apsw
import pytest

from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Busy
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.library import DATABASE_FILE
from anabranch.model.secret import Secret
from anabranch.server.config.field import build
from anabranch.server.config.settings import Address
from anabranch.server.doctor.address import check_address
from anabranch.server.doctor.blocks import buckets_in_use, check_blocks
from anabranch.server.doctor.check_result import State
from anabranch.server.doctor.clock import compare_clocks
from anabranch.server.doctor.disk_space import check_folders
from anabranch.server.doctor.keys import check_keys
from anabranch.server.doctor.sqlite import check_sqlite
from anabranch.testing.stores import FaultyBlocks, fail_at

SOUND, DOUBTFUL, WRONG = State.SOUND, State.DOUBTFUL, State.WRONG


def states(results):
    return [result.state for result in results]


def fault(results):
    """Returns the state and message of the one result that is not sound."""
    (result,) = [result for result in results if result.state is not SOUND]
    assert result.hint
    return result.state, result.message


def test_an_address_in_use_is_doubtful_and_one_of_another_machine_is_wrong():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        state, message = fault(check_address(Address("127.0.0.1", port)))
        assert (state, message) == (DOUBTFUL, f"another program listens on 127.0.0.1:{port}")
    assert states(check_address(Address("127.0.0.1", port))) == [SOUND]
    assert states(check_address(Address("127.0.0.1", 0))) == [SOUND]
    state, message = fault(check_address(Address("192.0.2.1", 8000)))
    assert (state, message.partition(":")[0]) == (WRONG, "cannot listen on 192.0.2.1")
    # no name, for which no name server is asked: one that is away would be waited for
    assert fault(check_address(Address("no such host", 8000)))[0] is WRONG


def settings_in(folder, **values):
    names = {name.replace("__", "."): value for name, value in values.items()}
    return build({"data": folder, **names})


def write_keys(folder, text="ab" * 32, mode=0o600):
    (folder / "keys").mkdir()
    for name in ("encrypt", "signing"):
        path = folder / "keys" / name
        path.write_text(text)
        path.chmod(mode)


@pytest.mark.parametrize(
    ("text", "mode", "expected", "message"),
    [
        ("ab" * 32, 0o600, [SOUND, SOUND], "is in "),
        ("ab" * 32, 0o644, [DOUBTFUL, DOUBTFUL], "other users of this machine may read "),
        ("ab" * 31, 0o600, [WRONG, WRONG], "a key of the installation is damaged"),
        ("", 0o600, [WRONG, WRONG], "a key of the installation is damaged"),
    ],
)
def test_key_files_are_valid_and_private(tmp_path, text, mode, expected, message):
    write_keys(tmp_path, text, mode)
    results = check_keys(settings_in(tmp_path))
    assert states(results) == expected
    assert all(message in result.message for result in results)
    assert "ab" * 31 not in str(results)


def test_missing_keys_are_not_created(tmp_path):
    assert states(check_keys(settings_in(tmp_path))) == [SOUND, SOUND]
    assert list(tmp_path.iterdir()) == []


def test_keys_of_servers_that_share_a_database_should_be_set(tmp_path):
    write_keys(tmp_path)
    state, message = fault(check_keys(settings_in(tmp_path, database__type="postgres")))
    assert state is DOUBTFUL
    assert message.startswith("blockstore.signing.secret_key and auth.encrypt.secret_key: not set")
    keys = {
        "blockstore__signing__secret_key": Secret("a"),
        "auth__encrypt__secret_key": Secret("b"),
    }
    settings = settings_in(tmp_path, database__type="postgres", **keys)
    assert states(check_keys(settings)) == [SOUND]


def test_the_nearest_existing_folder_is_checked(tmp_path):
    (tmp_path / "file").touch()
    folders = {
        "existing": tmp_path,
        "missing": tmp_path / "a" / "b",
        "below a file": tmp_path / "file" / "c",
    }
    results = check_folders(folders, min_free_bytes=0)
    assert states(results) == [SOUND, SOUND, WRONG]
    assert fault(results) == (WRONG, f"below a file: {tmp_path / 'file'} is not a folder")
    assert not (tmp_path / "a").exists()


def test_a_disk_that_is_nearly_full_is_doubtful(tmp_path):
    state, message = fault(check_folders({"data": tmp_path}, min_free_bytes=1 << 62))
    assert state is DOUBTFUL
    assert message.startswith("data: ")


def test_a_folder_without_write_permission_is_wrong(tmp_path):
    """Checks in an unprivileged process, since the tests may run as root."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            results = check_folders({"data": Path("/usr/lib/lake"), "cache": tmp_path / "c"})
            os.write(write, "\n".join(f"{each.state} {each.message}" for each in results).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as pipe:  # noqa: PTH123  a descriptor
        data, *_ = pipe.read().splitlines()
    os.waitpid(child, 0)
    assert data == "wrong data: this user may not write to /usr/lib"


@pytest.mark.parametrize(
    ("theirs", "state", "message"),
    [
        (100.0, SOUND, "agrees"),
        (104.9, SOUND, "agrees"),
        (91.1, SOUND, "agrees"),
        (116.0, DOUBTFUL, "10 s ahead of"),
        (66.0, DOUBTFUL, "30 s behind"),
        (3_706.0, WRONG, "3,600 s ahead of"),
        (0.0, WRONG, "96 s behind"),
    ],
)
def test_a_clock_is_compared_with_an_interval_of_this_machines_clock(theirs, state, message):
    result = compare_clocks("the store", theirs, 96.0, 106.0)
    assert result.state is state
    assert message in result.message


def test_a_slow_response_does_not_count_as_a_wrong_clock():
    assert compare_clocks("the store", 100.0, 0.0, 500.0).state is SOUND


@pytest.fixture
def database(tmp_path):
    """The file of a database with enough keys to have interior pages."""
    path = tmp_path / DATABASE_FILE
    store = SQLiteStore(path)
    store.apply([Write("p", b"%06d" % number, b"v" * 400) for number in range(3000)])
    store.close()
    return path


def garbage(path):
    path.write_bytes(b"no database " * 1000)


def torn_page(path):
    with path.open("r+b") as file:
        file.seek(4096 * 40)
        file.write(b"\xff" * 4096)


def newer(path):
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()


def foreign(path):
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE other (a)")
    connection.close()


def folder_in_place(path):
    path.unlink()
    path.mkdir()


@pytest.mark.sample(2)
@pytest.mark.parametrize("damage", [garbage, torn_page, newer, foreign, folder_in_place])
def test_an_unusable_database_is_wrong(database, damage):
    assert states(check_sqlite(database.parent)) == [SOUND]
    damage(database)
    state, message = fault(check_sqlite(database.parent))
    assert state is WRONG
    assert str(database) in message


def test_a_missing_database_is_sound_and_is_not_created(tmp_path):
    assert states(check_sqlite(tmp_path)) == [SOUND]
    assert list(tmp_path.iterdir()) == []


def test_buckets_of_namespaces():
    namespaces = ["s3://a/x", "s3://a/y", "s3://b", "gs://a/z", "local://n/m", "local://o", ""]
    assert buckets_in_use(namespaces) == ["s3://a/", "s3://b/", "gs://a/", "local://"]
    azure = "https://account.blob.core.windows.net/container"
    assert buckets_in_use([f"{azure}/a/b", azure]) == [f"{azure}/"]


def check(store, clock=time.time, bucket="local://"):
    return check_blocks(store, [bucket], "token", clock)


def test_checking_a_local_block_store_leaves_no_files(tmp_path):
    store = LocalBlocks(tmp_path)
    store.put("local://sea/a", [b"1"])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert states(check(store)) == [SOUND, SOUND]
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("put", "cannot write to mem://: disk full"),
        ("read", "cannot read from mem://: disk full"),
        ("list", "cannot list mem://: disk full"),
        ("delete", "cannot remove from mem://: disk full"),
    ],
)
def test_each_permission_is_tested_separately(step, message):
    store = MemoryBlocks()
    results = check(FaultyBlocks(store, fail_at(step, 1, Busy("disk full"))), bucket="mem://")
    assert fault(results) == (WRONG, message)
    if step != "delete":
        assert list(store.list("mem://")) == []


def test_a_store_whose_clock_is_off_is_wrong(tmp_path):
    state, message = fault(check(LocalBlocks(tmp_path), lambda: time.time() - 3600))
    assert state is WRONG
    assert "ahead of this machine's" in message
