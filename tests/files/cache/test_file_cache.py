"""A cache of files whose total size several processes share."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.session.sizes import sized

from anabranch.files.cache.file_cache import FileCache

BIG = 1 << 30
OLD = 1_000.0


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are scanned from now on."""
    found: list[str] = []
    scan = os.scandir

    def scandir(path: str) -> Iterator[os.DirEntry[str]]:
        found.append(str(path))
        return scan(path)

    # not by an audit hook, which all later tests of the process would call for whatever they do
    monkeypatch.setattr(os, "scandir", scandir)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def add(files: FileCache, name: str, size: int = 100) -> str:
    return files.materialize(
        name, lambda descriptor: os.write(descriptor, bytes(size)) and None, lambda _: None
    )


def names(folder: Path) -> set[str]:
    # not by `iterdir`, which is a scan from Python 3.13 on
    existing = {*os.listdir(folder)} - {"lock", "total"}  # noqa: PTH208
    return {name for name in existing if not name.endswith(".part")}


def fill(folder: Path, count: int, size: int, seconds_ago: float = OLD) -> None:
    """Creates files as another program would, last used `seconds_ago`."""
    folder.mkdir(exist_ok=True)
    then = time.time() - seconds_ago
    for number in range(count):
        path = folder / f"old-{number:06}"
        path.write_bytes(bytes(size))
        os.utime(path, (then + number * 1e-3,) * 2)


def test_the_folder_is_scanned_once_while_it_is_below_capacity(folder, tmp_path, scans):
    fill(folder, 500, 10)
    files = FileCache(folder, BIG, 0)
    scans.clear()
    for number in range(50):
        add(files, f"added-{number}")
        source = tmp_path / "new"
        source.write_bytes(b"new")
        files.add(str(source), f"copied-{number}")
    assert len(scans) == 1
    # another process uses the recorded total
    add(FileCache(folder, BIG, 0), "another")
    assert len(scans) == 1


def test_files_are_removed_in_batches(folder, scans):
    files = FileCache(folder, 32_000, 0)
    for number in range(320):
        add(files, f"{number:03}")
    scans.clear()
    for number in range(320, 640):
        add(files, f"{number:03}")
        if number % sized(8, weekly=1) == 0:
            held = sum((folder / name).stat().st_size for name in names(folder))
            assert held <= 32_000
    # a sixteenth of the capacity is freed at a time: 20 files
    assert 15 <= len(scans) <= 18
    assert min(names(folder)) > "300"


def test_the_total_is_exact_after_files_are_replaced_or_removed(folder, tmp_path, scans):
    files = FileCache(folder, 10_000, 0)
    scans.clear()
    for _ in range(sized(100, weekly=500)):
        source = tmp_path / "new"
        source.write_bytes(bytes(900))
        files.add(str(source), "same")
        add(files, "added", 900)
        files.remove("added")
        files.remove("never-there")
    assert names(folder) == {"same"}
    assert len(scans) == 1


def test_files_in_use_do_not_cause_repeated_scans(folder, scans):
    files = FileCache(folder, 1_000, 60)
    scans.clear()
    for number in range(100):
        add(files, f"{number}")
    assert len(names(folder)) == 100
    assert len(scans) <= 3


def test_a_scan_at_capacity_notices_files_removed_by_others(folder):
    files = FileCache(folder, 1_000, 0)
    for number in range(9):
        add(files, f"{number}")
    for name in names(folder):
        (folder / name).unlink()
    for number in range(9):
        add(files, f"again-{number}")
    assert len(names(folder)) == 9


def test_the_next_scan_notices_files_added_by_others(folder):
    files = FileCache(folder, 10_000, 0)
    add(files, "one")
    fill(folder, 200, 100)
    files.shrink()
    assert sum((folder / name).stat().st_size for name in names(folder)) <= 10_000


@pytest.mark.parametrize("content", [b"", b"short", bytes(100)[:3], b"\xff" * 16])
def test_a_damaged_total_is_computed_again(folder, content):
    fill(folder, 200, 100)
    (folder / "total").write_bytes(content)
    add(FileCache(folder, 10_000, 0), "one")
    assert len(names(folder)) <= 100


def test_a_removed_folder_is_created_again(folder, tmp_path):
    files = FileCache(folder, BIG, 0)
    add(files, "one")
    shutil.rmtree(folder)
    assert Path(add(files, "one")).stat().st_size == 100
    shutil.rmtree(folder)
    assert Path(files.temporary_folder("new-")).parent == folder
    source = tmp_path / "new"
    source.write_bytes(b"new")
    files.add(str(source), "copied")
    assert files.find("copied") is not None


def test_a_folder_removed_during_a_download_is_created_again(folder):
    files = FileCache(folder, BIG, 0)
    removals = [1, 2, 3]

    def remove(descriptor: int) -> None:
        os.write(descriptor, b"content")
        if removals:
            removals.pop()
            shutil.rmtree(folder)

    assert Path(files.materialize("one", remove, lambda _: None)).read_bytes() == b"content"
    assert not removals


def test_a_missing_source_is_not_retried(folder):
    files = FileCache(folder, BIG, 0)

    def fail(_: int) -> None:
        raise FileNotFoundError("elsewhere")

    with pytest.raises(FileNotFoundError, match="elsewhere"):
        files.materialize("one", fail, lambda _: None)


SHARING = """
import os, sys
from anabranch.files.cache.file_cache import FileCache
files = FileCache(sys.argv[1], int(sys.argv[2]), 0)
for number in range(int(sys.argv[3])):
    name = f"{os.getpid()}-{number}"
    files.materialize(name, lambda to: os.write(to, bytes(100)) and None, lambda _: None)
    print(number, flush=True)
"""


class TestProcesses:
    def start(self, folder: Path, capacity: int, count: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SHARING, folder, str(capacity), str(count)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def test_share_one_capacity(self, folder):
        """Each process alone stays below it."""
        with self.start(folder, 20_000, 150) as one, self.start(folder, 20_000, 150) as other:
            one.communicate()
            other.communicate()
        held = sum((folder / name).stat().st_size for name in names(folder))
        assert 15_000 <= held <= 20_200  # both may add a last file at the same time

    def test_that_are_killed_leave_a_total_that_is_corrected(self, folder):
        for _ in range(5):
            with self.start(folder, BIG, 10_000) as killed:
                assert killed.stdout.readline()
                killed.send_signal(signal.SIGKILL)
        files = FileCache(folder, 2_000, 0)
        for number in range(30):
            add(files, f"{number}")
        assert sum((folder / name).stat().st_size for name in names(folder)) <= 2_000 + 5 * 100
        files.shrink()
        assert sum((folder / name).stat().st_size for name in names(folder)) <= 2_000
