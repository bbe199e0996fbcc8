"""Work folders of killed processes are removed, and no others."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anabranch.files import work_folders
from anabranch.files.work_folders import WorkFolder, hold, remove_abandoned

PROGRAM = """
import sys
from anabranch.files.work_folders import WorkFolder
folder = WorkFolder("gc")
(folder.path / "large").mkdir()
(folder.path / "large" / "file").write_text("x")
print(folder.path, flush=True)
sys.stdin.read()
"""

HOLDER = """
import sys
from anabranch.files.work_folders import hold
hold(sys.argv[1])
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    work_folders._swept.clear()
    return tmp_path


@pytest.fixture
def process():
    """Another process with a work folder, and that folder."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        yield started, Path(started.stdout.readline().strip())
        started.kill()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_the_folder_of_a_killed_process_is_removed_by_the_next(place, process):
    running, folder = process
    remove_abandoned(str(place))
    assert (folder / "large" / "file").exists()
    kill(running)
    assert folder.exists()
    with WorkFolder("metrics") as own:
        assert not folder.exists()
        assert Path(own).parent == place
        assert Path(own).stat().st_mode & 0o777 == 0o700
    assert not list(place.iterdir())


def test_a_process_that_holds_the_folder_of_another_keeps_it(place, process):
    running, folder = process
    holder = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            HOLDER,
            folder,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        holder.stdout.readline()
        kill(running)
        remove_abandoned(str(place))
        assert folder.exists()
        kill(holder)
    remove_abandoned(str(place))
    assert not folder.exists()
    with pytest.raises(FileNotFoundError):
        hold(folder)


def test_folders_of_others_stay(place, process, monkeypatch):
    running, folder = process
    kill(running)
    without_lock = place / "anabranch-gc-older"
    without_lock.mkdir()
    (place / "else-where").mkdir()
    (place / "anabranch-link").symlink_to(folder)
    (place / "anabranch-file").write_text("x")
    names = sorted(place.iterdir())
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: os.getuid() + 1)
        remove_abandoned(str(place))
    with monkeypatch.context() as patched:
        patched.setattr(socket, "gethostname", lambda: "another-host")
        remove_abandoned(str(place))
    assert sorted(place.iterdir()) == names
    assert (folder / "large" / "file").exists()
    remove_abandoned(str(place))
    assert sorted(place.iterdir()) == sorted(set(names) - {folder})
    remove_abandoned(str(place / "nowhere"))


def test_what_a_folder_links_to_stays(place, process):
    running, folder = process
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("x")
    (folder / "link").symlink_to(elsewhere)
    kill(running)
    remove_abandoned(str(place))
    assert not folder.exists()
    assert (elsewhere / "file").exists()


def test_a_removal_that_was_broken_off_is_finished(place, process, monkeypatch):
    running, folder = process
    kill(running)
    with monkeypatch.context() as patched:

        def fail(name, *, dir_fd=None):
            if name == ".in-use":
                raise OSError("killed here")
            unlink(name, dir_fd=dir_fd)

        unlink = os.unlink
        patched.setattr(os, "unlink", fail)
        remove_abandoned(str(place))
    assert [path.name for path in folder.iterdir()] == [".in-use"]
    remove_abandoned(str(place))
    assert not folder.exists()


def test_a_folder_that_is_removed_before_it_has_its_lock_is_made_anew(place, monkeypatch):
    real, calls = fcntl.flock, []

    def lose(lock, how):
        if not calls:
            calls.append(how)
            (first,) = place.iterdir()
            (first / ".in-use").unlink()
            first.rmdir()
        return real(lock, how)

    monkeypatch.setattr(fcntl, "flock", lose)
    folder = WorkFolder("gc")
    assert calls
    assert (folder.path / ".in-use").exists()
    folder.close()
    folder.close()


def test_a_folder_goes_with_what_refers_to_it_and_not_with_a_child(place):
    folder = WorkFolder("gc")
    child = os.fork()
    if not child:
        folder.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert list(place.iterdir()) == [folder.path]
    del folder
    assert not list(place.iterdir())


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_has_folders_that_only_their_makers_remove(
    place, monkeypatch, number
):
    def refuse(_lock, _how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with WorkFolder("gc") as folder:
        hold(folder)
        remove_abandoned(str(place))
        assert Path(folder).is_dir()
    assert not list(place.iterdir())


@pytest.mark.slow
def test_makers_and_removers_at_once_lose_no_folder_that_is_in_use(place):
    stop = threading.Event()

    def remove():
        while not stop.is_set():
            remove_abandoned(str(place))

    def make(_number):
        with WorkFolder("gc") as folder:
            Path(folder, "file").write_text("x")
            return [Path(folder, "file").read_text() for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        removing = [pool.submit(remove) for _ in range(3)]
        made = list(pool.map(make, range(300)))
        stop.set()
        for each in removing:
            each.result()
    assert made == [["x"] * 20] * 300
    assert not list(place.iterdir())
