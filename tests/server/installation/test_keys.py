"""Generated keys: created once, shared, readable by their owner only."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from anabranch.errors import Busy, Corrupt
from anabranch.model.secret import Secret
from anabranch.server.config.field import build
from anabranch.server.config.settings import Settings
from anabranch.server.installation.keys import with_keys


def settings(data: Path, **values) -> Settings:
    return build(
        {"data": data, **{name.replace("__", "."): value for name, value in values.items()}}
    )


def test_keys_are_created_once(tmp_path):
    data = tmp_path / "new" / "data"
    first = with_keys(settings(data), os.urandom)
    second = with_keys(settings(data), os.urandom)
    assert first == second
    encrypt, signing = first.auth.encrypt.secret_key, first.blockstore.signing.secret_key
    assert encrypt != signing
    assert len(bytes.fromhex(encrypt.reveal())) == 32
    assert sorted(path.name for path in (data / "keys").iterdir()) == ["encrypt", "signing"]
    for path in (data / "keys").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((data / "keys").stat().st_mode) == 0o700
    assert encrypt.reveal() not in repr(first)


def test_other_folders_have_other_keys(tmp_path):
    one, two = (with_keys(settings(tmp_path / name), os.urandom) for name in ("a", "b"))
    assert one.auth.encrypt != two.auth.encrypt


def test_keys_that_are_set_are_used_and_no_file_is_created(tmp_path):
    complete = settings(
        tmp_path,
        auth__encrypt__secret_key=Secret("mine"),
        blockstore__signing__secret_key=Secret("mine too"),
    )
    assert with_keys(complete, os.urandom) == complete
    assert list(tmp_path.iterdir()) == []


def test_keys_of_a_store_in_memory_are_not_written_to_files(tmp_path):
    complete = with_keys(settings(tmp_path, database__type="mem"), os.urandom)
    assert complete.auth.encrypt.secret_key
    assert list(tmp_path.iterdir()) == []


def test_threads_that_start_at_the_same_time_share_the_keys(tmp_path):
    for number in range(20):
        barrier = Barrier(8)

        def work(_, data=tmp_path / str(number), barrier=barrier):
            barrier.wait()
            return with_keys(settings(data), os.urandom)

        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(work, range(8)))
        assert all(result == results[0] for result in results)
        assert len(list((tmp_path / str(number) / "keys").iterdir())) == 2


def test_processes_that_start_at_the_same_time_share_the_keys(tmp_path):
    program = (
        "import os, sys; from pathlib import Path\n"
        "from anabranch.server.installation.keys import with_keys\n"
        "from anabranch.server.config.field import build\n"
        "sys.stdin.readline()\n"
        "keys = with_keys(build({'data': Path(sys.argv[1])}), os.urandom)\n"
        "print(keys.auth.encrypt.secret_key.reveal(), keys.blockstore.signing.secret_key.reveal())"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "data")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    servers = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(4)
    ]
    for server in servers:
        server.stdin.write("go\n")
        server.stdin.flush()
    outputs = {server.communicate(timeout=60)[0] for server in servers}
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == 2


@pytest.mark.parametrize("content", [b"", b"ab\n", b"\xff" * 64, b"a" * 63])
def test_a_damaged_key_raises_corrupt_with_its_path(tmp_path, content):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "encrypt").write_bytes(content)
    with pytest.raises(Corrupt) as error:
        with_keys(settings(tmp_path), os.urandom)
    assert error.value.path.endswith("keys/encrypt")


def test_a_data_folder_that_is_a_file_raises_busy_with_its_path(tmp_path):
    (tmp_path / "data").write_text("a file")
    with pytest.raises(Busy, match="data/keys/"):
        with_keys(settings(tmp_path / "data"), os.urandom)
