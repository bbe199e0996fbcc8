"""Each check finds what is really wrong, says so, and leaves nothing behind."""

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
from anabranch.server.doctor.blocks import check_blocks, places_of
from anabranch.server.doctor.check_result import State
from anabranch.server.doctor.clock import compare_clocks
from anabranch.server.doctor.disk_space import check_folders
from anabranch.server.doctor.keys import check_keys
from anabranch.server.doctor.sqlite import check_sqlite
from anabranch.testing.stores import FaultyBlocks, fail_at

SOUND, DOUBTFUL, WRONG = State.SOUND, State.DOUBTFUL, State.WRONG


def states(findings):
    return [finding.state for finding in findings]


def worst(findings):
    """Returns the one finding that is not sound."""
    (found,) = [finding for finding in findings if finding.state is not SOUND]
    assert found.hint, "it says what to do"
    return found.state, found.message


def test_an_address_is_free_taken_or_not_ours():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        state, message = worst(check_address(Address("127.0.0.1", port)))
        assert (state, message) == (DOUBTFUL, f"another program listens on 127.0.0.1:{port}")
    assert states(check_address(Address("127.0.0.1", port))) == [SOUND]
    assert states(check_address(Address("127.0.0.1", 0))) == [SOUND]
    state, message = worst(check_address(Address("192.0.2.1", 8000)))
    assert (state, message.partition(":")[0]) == (WRONG, "cannot listen on 192.0.2.1")
    assert worst(check_address(Address("no-such-host.invalid", 8000)))[0] is WRONG


def settings_in(folder, **values):
    names = {name.replace("__", "."): value for name, value in values.items()}
    return build({"data": folder, **names})


def keep_keys(folder, text="ab" * 32, mode=0o600):
    (folder / "keys").mkdir()
    for name in ("encrypt", "signing"):
        path = folder / "keys" / name
        path.write_text(text)
        path.chmod(mode)


@pytest.mark.parametrize(
    ("text", "mode", "found", "words"),
    [
        ("ab" * 32, 0o600, [SOUND, SOUND], "is in "),
        ("ab" * 32, 0o644, [DOUBTFUL, DOUBTFUL], "others may read "),
        ("ab" * 31, 0o600, [WRONG, WRONG], "a key of the installation is damaged"),
        ("", 0o600, [WRONG, WRONG], "a key of the installation is damaged"),
    ],
)
def test_keys_in_their_files(tmp_path, text, mode, found, words):
    keep_keys(tmp_path, text, mode)
    findings = check_keys(settings_in(tmp_path))
    assert states(findings) == found
    assert all(words in finding.message for finding in findings)
    assert "ab" * 31 not in str(findings)


def test_keys_that_are_not_there_are_not_made(tmp_path):
    assert states(check_keys(settings_in(tmp_path))) == [SOUND, SOUND]
    assert list(tmp_path.iterdir()) == []


def test_keys_of_servers_that_share_a_database_should_be_set(tmp_path):
    keep_keys(tmp_path)
    state, message = worst(check_keys(settings_in(tmp_path, database__type="postgres")))
    assert state is DOUBTFUL
    assert message.startswith("blockstore.signing.secret_key and auth.encrypt.secret_key: not set")
    given = {
        "blockstore__signing__secret_key": Secret("a"),
        "auth__encrypt__secret_key": Secret("b"),
    }
    settings = settings_in(tmp_path, database__type="postgres", **given)
    assert states(check_keys(settings)) == [SOUND]


def test_folders_are_looked_at_where_they_are_or_will_be(tmp_path):
    (tmp_path / "file").touch()
    folders = {
        "there": tmp_path,
        "to be made": tmp_path / "a" / "b",
        "below a file": tmp_path / "file" / "c",
    }
    found = check_folders(folders, least_bytes=0)
    assert states(found) == [SOUND, SOUND, WRONG]
    assert worst(found) == (WRONG, f"below a file: {tmp_path / 'file'} is no folder")
    assert not (tmp_path / "a").exists()


def test_a_disk_that_is_nearly_full_is_doubtful(tmp_path):
    state, message = worst(check_folders({"data": tmp_path}, least_bytes=1 << 62))
    assert state is DOUBTFUL
    assert message.startswith("data: ")


def test_a_folder_that_is_not_ours_to_write_is_wrong(tmp_path):
    """Asked by a process without rights: the tests' own may have all of them."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            found = check_folders({"data": Path("/usr/lib/lake"), "cache": tmp_path / "c"})
            os.write(write, "\n".join(f"{each.state} {each.message}" for each in found).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as pipe:  # noqa: PTH123  a descriptor
        data, *_ = pipe.read().splitlines()
    os.waitpid(child, 0)
    assert data == "wrong data: this user may not write to /usr/lib"


@pytest.mark.parametrize(
    ("theirs", "state", "words"),
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
def test_clocks_are_compared_between_two_moments(theirs, state, words):
    found = compare_clocks("the sea", theirs, 96.0, 106.0)
    assert found.state is state
    assert words in found.message


def test_a_slow_answer_is_not_held_against_a_clock():
    assert compare_clocks("the sea", 100.0, 0.0, 500.0).state is SOUND


@pytest.fixture
def database(tmp_path):
    """The file of a database with so many keys that it has inner pages."""
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


@pytest.mark.parametrize("spoil", [garbage, torn_page, newer, foreign, folder_in_place])
def test_a_database_that_cannot_be_served_is_wrong(database, spoil):
    assert states(check_sqlite(database.parent)) == [SOUND]
    spoil(database)
    state, message = worst(check_sqlite(database.parent))
    assert state is WRONG
    assert str(database) in message


def test_no_database_is_no_fault_and_none_is_made(tmp_path):
    assert states(check_sqlite(tmp_path)) == [SOUND]
    assert list(tmp_path.iterdir()) == []


def test_places_are_buckets():
    namespaces = ["s3://a/x", "s3://a/y", "s3://b", "gs://a/z", "local://n/m", "local://o", ""]
    assert places_of(namespaces) == ["s3://a/", "s3://b/", "gs://a/", "local://"]
    azure = "https://account.blob.core.windows.net/container"
    assert places_of([f"{azure}/a/b", azure]) == [f"{azure}/"]


def look(store, clock=time.time, place="local://"):
    return check_blocks(store, [place], "token", clock)


def test_a_folder_of_blocks_is_as_it_was(tmp_path):
    store = LocalBlocks(tmp_path)
    store.put("local://sea/a", [b"1"])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert states(look(store)) == [SOUND, SOUND]
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("put", "cannot write to mem://: no room"),
        ("read", "cannot read from mem://: no room"),
        ("list", "cannot list mem://: no room"),
        ("delete", "cannot remove from mem://: no room"),
    ],
)
def test_each_right_is_tried_by_itself(step, words):
    store = MemoryBlocks()
    findings = look(FaultyBlocks(store, fail_at(step, 1, Busy("no room"))), place="mem://")
    assert worst(findings) == (WRONG, words)
    if step != "delete":
        assert list(store.list("mem://")) == []


def test_a_store_whose_clock_is_off_is_wrong(tmp_path):
    findings = look(LocalBlocks(tmp_path), lambda: time.time() - 3600)
    state, message = worst(findings)
    assert state is WRONG
    assert "ahead of this machine's" in message
