"""The files of a cache and the total that several processes keep of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch.blocks.cache.file_cache import FileCache

BIG = 1 << 30
OLD = 1_000.0

_scans: list[str] = []
sys.addaudithook(
    lambda event, given: _scans.append(str(given[0])) if event == "os.scandir" else None
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def bring(files: FileCache, name: str, size: int = 100) -> str:
    return files.materialize(
        name, lambda descriptor: os.write(descriptor, bytes(size)) and None, lambda _: None
    )


def names(folder: Path) -> set[str]:
    found = {path.name for path in folder.iterdir()} - {"lock", "total"}
    return {name for name in found if not name.endswith(".part")}


def scans(folder: Path) -> int:
    return _scans.count(str(folder))


def fill(folder: Path, count: int, size: int, seconds_ago: float = OLD) -> None:
    """Puts files there as another program would, all unused for a while."""
    folder.mkdir(exist_ok=True)
    then = time.time() - seconds_ago
    for number in range(count):
        path = folder / f"old-{number:06}"
        path.write_bytes(bytes(size))
        os.utime(path, (then + number * 1e-3,) * 2)


def test_the_folder_is_read_once_while_there_is_room(folder, tmp_path):
    fill(folder, 500, 10)
    files = FileCache(folder, BIG, 0)
    before = scans(folder)
    for number in range(50):
        bring(files, f"brought-{number}")
        source = tmp_path / "new"
        source.write_bytes(b"made")
        files.add(str(source), f"taken-{number}")
    assert scans(folder) - before == 1
    # what one process has counted, another knows
    bring(FileCache(folder, BIG, 0), "another")
    assert scans(folder) - before == 1


def test_files_are_removed_in_batches(folder):
    files = FileCache(folder, 32_000, 0)
    for number in range(320):
        bring(files, f"{number:03}")
    before = scans(folder)
    for number in range(320, 640):
        bring(files, f"{number:03}")
        held = sum((folder / name).stat().st_size for name in names(folder))
        assert held <= 32_000
    # a sixteenth of the capacity is freed at a time: 20 files
    assert 15 <= scans(folder) - before <= 18
    assert min(names(folder)) > "300"


def test_the_total_stays_true_when_files_are_replaced_or_removed(folder, tmp_path):
    files = FileCache(folder, 10_000, 0)
    before = scans(folder)
    for _ in range(500):
        source = tmp_path / "new"
        source.write_bytes(bytes(900))
        files.add(str(source), "same")
        bring(files, "brought", 900)
        files.remove("brought")
        files.remove("never-there")
    assert names(folder) == {"same"}
    assert scans(folder) - before == 1


def test_files_that_may_not_go_yet_are_not_counted_again_and_again(folder):
    files = FileCache(folder, 1_000, 60)
    before = scans(folder)
    for number in range(100):
        bring(files, f"{number}")
    assert len(names(folder)) == 100
    assert scans(folder) - before <= 3


def test_files_removed_by_hand_are_found_missing_when_there_seems_to_be_no_room(folder):
    files = FileCache(folder, 1_000, 0)
    for number in range(9):
        bring(files, f"{number}")
    for name in names(folder):
        (folder / name).unlink()
    for number in range(9):
        bring(files, f"again-{number}")
    assert len(names(folder)) == 9


def test_files_added_by_hand_are_found_by_the_next_count(folder):
    files = FileCache(folder, 10_000, 0)
    bring(files, "one")
    fill(folder, 200, 100)
    files.shrink()
    assert sum((folder / name).stat().st_size for name in names(folder)) <= 10_000


@pytest.mark.parametrize("content", [b"", b"short", bytes(100)[:3], b"\xff" * 16])
def test_a_damaged_total_is_counted_again(folder, content):
    fill(folder, 200, 100)
    (folder / "total").write_bytes(content)
    bring(FileCache(folder, 10_000, 0), "one")
    assert len(names(folder)) <= 100


def test_a_removed_folder_is_made_again(folder, tmp_path):
    files = FileCache(folder, BIG, 0)
    bring(files, "one")
    shutil.rmtree(folder)
    assert Path(bring(files, "one")).stat().st_size == 100
    shutil.rmtree(folder)
    assert Path(files.temporary_folder("new-")).parent == folder
    source = tmp_path / "new"
    source.write_bytes(b"made")
    files.add(str(source), "taken")
    assert files.find("taken") is not None


def test_a_folder_removed_while_a_file_is_brought_is_made_again(folder):
    files = FileCache(folder, BIG, 0)
    removals = [1, 2, 3]

    def remove(descriptor: int) -> None:
        os.write(descriptor, b"content")
        if removals:
            removals.pop()
            shutil.rmtree(folder)

    assert Path(files.materialize("one", remove, lambda _: None)).read_bytes() == b"content"
    assert not removals


def test_a_file_that_is_missing_elsewhere_is_no_reason_to_go_on(folder):
    files = FileCache(folder, BIG, 0)

    def fail(_: int) -> None:
        raise FileNotFoundError("elsewhere")

    with pytest.raises(FileNotFoundError, match="elsewhere"):
        files.materialize("one", fail, lambda _: None)


SHARING = """
import os, sys
from anabranch.blocks.cache.file_cache import FileCache
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

    def test_keep_the_capacity_together(self, folder):
        """Each alone would stay below it."""
        with self.start(folder, 20_000, 150) as one, self.start(folder, 20_000, 150) as other:
            one.communicate()
            other.communicate()
        held = sum((folder / name).stat().st_size for name in names(folder))
        assert 15_000 <= held <= 20_200  # the last of each may have met the other's count

    def test_that_are_killed_leave_a_total_that_is_put_right(self, folder):
        for _ in range(5):
            with self.start(folder, BIG, 10_000) as killed:
                assert killed.stdout.readline()
                killed.send_signal(signal.SIGKILL)
        files = FileCache(folder, 2_000, 0)
        for number in range(30):
            bring(files, f"{number}")
        assert sum((folder / name).stat().st_size for name in names(folder)) <= 2_000 + 5 * 100
        files.shrink()
        assert sum((folder / name).stat().st_size for name in names(folder)) <= 2_000
