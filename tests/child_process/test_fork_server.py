"""Processes that a fork server starts: nothing of one reaches the next, and none stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anabranch.child_process import fork_server
from anabranch.child_process.descendants import children, descendants, has_ended
from anabranch.child_process.fork_server import ForkServer

MODULE = """
    import os, sys, time

    SEEN = []

    def prepare():
        SEEN.append("prepared")

    def main(lifeline):
        from anabranch.child_process.forking import end_with
        end_with(lifeline)
        for line in sys.stdin:
            SEEN.append(line.strip())
            if SEEN[-1] == "hang":
                time.sleep(600)
            if SEEN[-1] == "raise":
                raise ValueError
            if SEEN[-1] == "environment":
                SEEN.extend(sorted(os.environ))
            if SEEN[-1] == "files":
                SEEN.append(str(sorted(map(int, os.listdir("/proc/self/fd")))))
            print(os.getpid(), *SEEN, flush=True)
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes have descriptors on Linux only"
)


@pytest.fixture
def server(tmp_path, monkeypatch):
    (tmp_path / "forked_module.py").write_text(textwrap.dedent(MODULE))
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    server = ForkServer("forked_module")
    yield server
    server.close()


def say(process, line):
    """Returns what a process has seen after a line, without its id."""
    process.stdin.write(f"{line}\n".encode())
    process.stdin.flush()
    return process.stdout.readline().decode().split()[1:]


def open_files(process):
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def test_a_process_has_what_was_prepared_and_nothing_of_those_before(server):
    for line in ("first", "second"):
        with server.start() as process:
            assert say(process, line) == ["prepared", line]


def test_processes_run_at_the_same_time(server):
    def ask(number):
        with server.start() as process:
            return say(process, f"{number}")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(40))) == [["prepared", f"{n}"] for n in range(40)]


@pytest.mark.parametrize("has_descriptors", [True, False])
def test_a_process_that_hangs_is_killed_with_its_context(
    server, monkeypatch, has_descriptors, eventually
):
    monkeypatch.setattr(fork_server, "_HAS_DESCRIPTORS", has_descriptors)
    with server.start() as process:
        process.stdin.write(b"here\nhang\n")
        process.stdin.flush()
        pid = int(process.stdout.readline().split()[0])
        process.kill()
        assert process.stdout.read() == b""
        process.kill()
    eventually(lambda: has_ended(pid))


def test_an_error_of_the_module_ends_its_process_alone(server):
    with server.start() as process:
        process.stdin.write(b"raise\n")
        process.stdin.flush()
        assert process.stdout.read() == b""
    with server.start() as process:
        assert say(process, "next") == ["prepared", "next"]


def test_a_fork_server_that_was_killed_is_started_again(server):
    with server.start() as process:
        assert say(process, "first") == ["prepared", "first"]
        os.kill(server._server.pid, signal.SIGKILL)
        server._server.wait()
        assert say(process, "second") == ["prepared", "first", "second"]
    with server.start() as process:
        assert say(process, "third") == ["prepared", "third"]


def test_a_module_that_cannot_be_imported_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = ForkServer("no_module_of_this_name")
    files = open_files("self")
    with pytest.raises(OSError, match="cannot be started"):
        server.start()
    assert open_files("self") == files


def test_no_files_and_no_processes_are_left(server, eventually):
    with server.start() as process:
        first = say(process, "files")
    files = open_files("self")
    held = open_files(server._server.pid)
    for _ in range(20):
        with server.start() as process:
            assert say(process, "files") == first  # only its own
    assert open_files("self") == files
    eventually(lambda: open_files(server._server.pid) == held)
    eventually(lambda: children(server._server.pid) == [])


def test_secrets_of_the_environment_are_not_passed_on(server, monkeypatch):
    monkeypatch.setenv("ANABRANCH_AUTH_ENCRYPT_SECRET_KEY", "secret")
    with server.start() as process:
        seen = say(process, "environment")
    assert "PATH" in seen
    assert not [name for name in seen if "ANABRANCH" in name]


@pytest.mark.usefixtures("server")
def test_all_end_with_the_process_that_started_them(eventually):
    script = """
        from anabranch.child_process.fork_server import ForkServer
        server = ForkServer("forked_module")
        hanging = server.start()
        hanging.stdin.write(b"hang\\n")
        hanging.stdin.flush()
        print("started", flush=True)
        input()
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as parent:
        assert parent.stdout.readline() == b"started\n"
        started = list(descendants(parent.pid))
        assert len(started) == 2
        parent.kill()
    eventually(lambda: all(map(has_ended, started)))


@pytest.mark.usefixtures("server")
def test_a_fork_of_a_process_has_a_fork_server_of_its_own():
    script = """
        import os
        from anabranch.child_process.fork_server import ForkServer

        def say(process, word):
            process.stdin.write(f"{word}\\n".encode())
            process.stdin.flush()
            return process.stdout.readline().decode().split()[1:]

        server = ForkServer("forked_module")
        with server.start() as process:
            print(say(process, "parent"))
            if os.fork() == 0:
                with server.start() as own:
                    print(say(own, "child"), flush=True)
                server.close()
                os._exit(0)
            os.wait()
            print(say(process, "again"))
        with server.start() as process:
            print(say(process, "parent"))
    """
    command = [sys.executable, "-u", "-c", textwrap.dedent(script)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        "['prepared', 'parent']",
        "['prepared', 'child']",
        "['prepared', 'parent', 'again']",
        "['prepared', 'parent']",
    ], ran.stderr
