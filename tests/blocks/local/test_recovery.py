"""Recovery of journals after crashes, damage and replaced blocks."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from support.faults.power_loss import journals

from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Busy

BODIES = {f"local://space/{name}": name.upper().encode() * 50 for name in ("a", "b", "c", "d")}


@pytest.fixture
def folder(root: Path, tmp_path: Path) -> Path:
    """A folder as after a crash that followed four puts."""
    store = LocalBlocks(root)
    for address, body in BODIES.items():
        store.put(address, [body], unique_address=True)
    shutil.copytree(root, tmp_path / "crashed")
    store.close()
    return tmp_path / "crashed"


def remove_blocks(folder: Path) -> None:
    """Removes all blocks."""
    shutil.rmtree(folder / "space")


def damage(folder: Path, what: bytes) -> None:
    """Changes a byte of the first occurrence of `what` in the journal."""
    (journal,) = journals(folder)
    data = journal.read_bytes()
    assert what in data
    journal.write_bytes(data.replace(what, bytes([what[0] ^ 1]) + what[1:], 1))


def content(store: LocalBlocks) -> dict[str, bytes]:
    return {info.address: store.read(info.address) for info in store.list("local://")}


def test_recovery_restores_missing_blocks(folder, caplog):
    remove_blocks(folder)
    assert content(LocalBlocks(folder)) == BODIES
    assert journals(folder) == []
    assert "4 blocks were restored" in caplog.text


def test_recovery_logs_nothing_if_no_block_is_missing(folder, caplog):
    assert content(LocalBlocks(folder)) == BODIES
    assert caplog.text == ""


def test_a_damaged_record_is_logged_and_the_others_are_restored(folder, caplog):
    remove_blocks(folder)
    damage(folder, BODIES["local://space/b"])
    with caplog.at_level(logging.ERROR):
        store = LocalBlocks(folder)
    assert content(store) == {a: body for a, body in BODIES.items() if a != "local://space/b"}
    (error,) = caplog.messages
    assert "space/b is lost" in error
    (kept,) = journals(folder)
    assert kept.name.endswith(".damaged")
    caplog.clear()
    LocalBlocks(folder)
    assert caplog.messages == []


def test_record_with_a_damaged_name_is_reported(folder, caplog):
    remove_blocks(folder)
    damage(folder, b"space/c")
    with caplog.at_level(logging.ERROR):
        store = LocalBlocks(folder)
    assert len(content(store)) == 3
    (error,) = caplog.messages
    assert "whose name cannot be read is lost" in error


def test_recovery_ignores_a_damaged_record_whose_file_is_complete(folder, caplog):
    damage(folder, BODIES["local://space/b"])
    assert content(LocalBlocks(folder)) == BODIES
    assert caplog.messages == []
    assert journals(folder) == []


def test_a_torn_end_is_not_damage(folder, caplog):
    remove_blocks(folder)
    damage(folder, BODIES["local://space/d"])
    store = LocalBlocks(folder)
    assert content(store).keys() == BODIES.keys() - {"local://space/d"}
    assert not [record for record in caplog.records if record.levelno > logging.WARNING]
    assert journals(folder) == []


@pytest.mark.parametrize("what", ["folder", "link", "file above", "link above"])
def test_recovery_keeps_what_has_replaced_a_block(folder, tmp_path, caplog, what):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"secret")
    if what in {"folder", "link"}:
        (folder / "space/b").unlink()
        if what == "folder":
            (folder / "space/b").mkdir()
        else:
            (folder / "space/b").symlink_to(tmp_path / "outside/secret")
    else:
        remove_blocks(folder)
        if what == "file above":
            (folder / "space").write_bytes(b"")
        else:
            (folder / "space").symlink_to(tmp_path / "outside")
    with caplog.at_level(logging.ERROR):
        store = LocalBlocks(folder)
    assert "the block space/b cannot be restored" in caplog.text
    (kept,) = journals(folder)
    assert kept.name.endswith(".damaged")
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["secret"]
    assert (tmp_path / "outside/secret").read_bytes() == b"secret"
    if what in {"folder", "link"}:
        assert store.read("local://space/c") == BODIES["local://space/c"]


def test_recovery_that_cannot_write_fails_and_keeps_the_journal(folder, monkeypatch):
    remove_blocks(folder)
    before = [journal.read_bytes() for journal in journals(folder)]

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("anabranch.blocks.local.journal.recovery._write_file", full)
        with pytest.raises(Busy, match="No space left"):
            LocalBlocks(folder)
    assert [journal.read_bytes() for journal in journals(folder)] == before
    assert content(LocalBlocks(folder)) == BODIES


def test_recovery_keeps_other_files(folder):
    (journal,) = journals(folder)
    others = [journal.with_name(name) for name in ("x", "0011.journal-1", f"{'0' * 16}.journal-2")]
    for path in others:
        path.write_bytes(b"not ours")
    LocalBlocks(folder)
    assert journals(folder) == sorted(others)


@pytest.mark.parametrize("written_again", [False, True])
def test_a_deleted_table_returns_only_if_it_was_written_again(root, tmp_path, written_again):
    store, namespace = LocalBlocks(root), "local://space/_lakefs"
    tables = {"a" * 64: b"1", "b" * 64: b"2"}

    def write():
        folder = Path(store.write_folder(namespace))
        for name, body in tables.items():
            (folder / name).write_bytes(body)
        store.make_durable(namespace, tables)

    write()
    store.delete([f"{namespace}/{name}" for name in tables])
    if written_again:
        write()
    crashed = tmp_path / "crashed"
    shutil.copytree(root, crashed)
    store.close()
    for table in (crashed / "space/_lakefs").iterdir():
        table.unlink()
    assert len(content(LocalBlocks(crashed))) == (len(tables) if written_again else 0)
