"""A data folder in which the database or a key is lost: no new installation takes its place."""

from __future__ import annotations

import pytest

import anabranch
from anabranch.cli.main import main
from anabranch.errors import Corrupt
from anabranch.testing.server import running_server


@pytest.fixture
def lake(tmp_path):
    """The folder of a lake with an object, which no server serves."""
    with running_server(tmp_path), anabranch.open(tmp_path) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
    return tmp_path


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refusal(folder) -> str:
    """Returns the error of a server that does not start and changes nothing."""
    before = files(folder)
    with pytest.raises(AssertionError) as refused, running_server(folder):
        pass
    assert files(folder) == before
    assert "Traceback" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("how", ["missing", "empty", "folder"])
def test_a_lost_database_is_no_new_installation(lake, how):
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
    said = refusal(lake)
    assert str(database) in said
    assert "Restore it from a backup" in said
    with pytest.raises(Corrupt) as lost:
        anabranch.open(lake)
    assert (lost.value.kind, lost.value.path) == ("database_missing", str(database))
    assert main(["migrate", "--adopt", "--data", str(lake)]) == 1
    assert not database.exists() or how == "empty"
    database.parent.mkdir(exist_ok=True)
    database.write_bytes(whole)
    with running_server(lake), anabranch.open(lake) as found:
        assert b"".join(found.objects.open("sea", "main", "a").read()) == b"1"


def test_a_log_without_its_database_is_kept(tmp_path):
    log = tmp_path / "metadata" / "metadata.db-wal"
    log.parent.mkdir()
    log.write_bytes(b"commits that are nowhere else")
    assert "metadata.db is missing" in refusal(tmp_path)


def test_a_lost_key_is_named_and_no_other_is_made(lake):
    key = lake / "keys" / "encrypt"
    key.unlink()
    said = refusal(lake)
    assert str(key) in said
    assert "migrate --adopt" in said
    assert main(["migrate", "--adopt", "--data", str(lake)]) == 0
    with running_server(lake):
        pass


def test_a_first_start_that_was_cut_off_is_begun_again(tmp_path):
    (tmp_path / "metadata").mkdir()
    for name in ("metadata.db", "metadata.db-turn", "metadata.db-queue"):
        (tmp_path / "metadata" / name).touch()
    with running_server(tmp_path):
        pass
