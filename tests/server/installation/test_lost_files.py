"""A server whose database or key is lost does not start, so it cannot create an empty one."""

from __future__ import annotations

import pytest

import anabranch
from anabranch.cli.main import main
from anabranch.errors import Corrupt
from anabranch.testing.server import running_server


@pytest.fixture
def lake(tmp_path):
    """The data folder of a stopped server, with one object."""
    with running_server(tmp_path), anabranch.open(tmp_path) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
    return tmp_path


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def start_error(folder) -> str:
    """Returns the output of a server that fails to start; checks that it changes no file."""
    before = files(folder)
    with pytest.raises(AssertionError) as refused, running_server(folder):
        pass
    assert files(folder) == before
    assert "Traceback" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("how", ["missing", "empty", "folder"])
@pytest.mark.sample(1)
def test_a_server_whose_database_is_lost_does_not_start(lake, how):
    database = lake / "metadata" / "metadata.db"
    whole = database.read_bytes()
    if how == "empty":
        database.write_bytes(b"")
    else:
        database.unlink()
    if how == "folder":
        for file in database.parent.iterdir():
            file.unlink()
        database.parent.rmdir()
    output = start_error(lake)
    assert str(database) in output
    assert "Restore it from a backup" in output
    with pytest.raises(Corrupt) as lost:
        anabranch.open(lake)
    assert (lost.value.kind, lost.value.path) == ("database_missing", str(database))
    assert main(["migrate", "--adopt", "--data", str(lake)]) == 1
    assert not database.exists() or how == "empty"
    database.parent.mkdir(exist_ok=True)
    database.write_bytes(whole)
    with running_server(lake), anabranch.open(lake) as restored:
        assert b"".join(restored.objects.open("sea", "main", "a").chunks()) == b"1"


def test_a_write_ahead_log_without_its_database_is_kept(tmp_path):
    log = tmp_path / "metadata" / "metadata.db-wal"
    log.parent.mkdir()
    log.write_bytes(b"commits that exist only in the log")
    assert "metadata.db is missing" in start_error(tmp_path)


@pytest.mark.slow
def test_a_lost_key_is_reported_and_no_new_one_is_created(lake):
    key = lake / "keys" / "encrypt"
    key.unlink()
    output = start_error(lake)
    assert str(key) in output
    assert "migrate --adopt" in output
    assert main(["migrate", "--adopt", "--data", str(lake)]) == 0
    with running_server(lake):
        pass


@pytest.mark.slow
def test_a_server_starts_after_an_interrupted_first_start(tmp_path):
    (tmp_path / "metadata").mkdir()
    for name in ("metadata.db", "metadata.db-turn", "metadata.db-queue"):
        (tmp_path / "metadata" / name).touch()
    with running_server(tmp_path):
        pass
