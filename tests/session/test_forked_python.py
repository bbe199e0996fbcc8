"""Programs that are forked have the streams, the status and the signals of any other."""

from __future__ import annotations

import marshal
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.session.forked_python import forked_python, program_path

from anabranch.testing.forked_programs import start_programs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks programs")
ECHO = "import os, sys; print(os.getcwd(), os.environ['A'], sys.argv[1:], sys.stdin.read())"


def run(*words, python=None, stdout=subprocess.PIPE, **options):
    command = [python or forked_python(), *words]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, **options
    )


def test_a_program_has_its_words_streams_environment_and_folder(tmp_path):
    ran = run("-c", ECHO, "x", "y z", input="in", cwd=tmp_path, env={"A": "b"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"{tmp_path} b ['x', 'y z'] in\n"


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('no')", 1),
        ("raise ValueError", 1),
        ("raise KeyboardInterrupt", -2),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import os; os.kill(os.getpid(), 15)", -15),
    ],
)
def test_the_status_is_that_of_the_program(program, status):
    assert run("-c", program).returncode == status


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "program",
    [
        "import atexit; atexit.register(print, 'exit'); print('end')",
        "import threading; threading.Timer(0.2, lambda: print('thread')).start(); print('end')",
        "import tempfile; held = tempfile.TemporaryDirectory(); print(held.name)",
        "import sys; sys.stderr.write('unfinished'); sys.stdout.write('line')",
        "import sys; sys.exit('a reason')",
        "raise ValueError('why')",
    ],
)
def test_a_program_ends_as_python_ends_it(program, tmp_path):
    """Threads are waited for, functions of `atexit` called, streams flushed, folders removed."""
    expected = run("-c", program, python=sys.executable, env=environment_of(tmp_path / "a"))
    ran = run("-c", program, env=environment_of(tmp_path / "b"))
    assert ran.returncode == expected.returncode
    assert len(ran.stdout) == len(expected.stdout)
    assert ran.stderr.splitlines()[-1:] == expected.stderr.splitlines()[-1:]
    if "tempfile" not in program:
        assert ran.stdout == expected.stdout
    for folder in ("a", "b"):
        assert [*(tmp_path / folder).iterdir()] == []


def environment_of(folder):
    folder.mkdir()
    return {**os.environ, "TMPDIR": str(folder)}


def test_output_that_cannot_be_written_fails_the_program():
    with open("/dev/full", "w") as full:  # noqa: PTH123  a device
        words = ["-c", "print('lost')"]
        expected = run(*words, python=sys.executable, stdout=full, env={})
        ran = run(*words, stdout=full, env={})
    assert ran.returncode == expected.returncode == 120
    assert "No space left" in ran.stderr


def test_a_signal_reaches_the_program():
    text = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
print(1, flush=True)
time.sleep(500)
"""
    # not SIGINT, which programs ignore that a shell has started behind others
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([forked_python(), "-c", text], **pipes) as process:
        assert process.stdout.readline() == b"1\n"
        process.terminate()
        assert process.communicate() == (b"", b"ended\n")
        assert process.returncode == 1


def test_a_program_ends_with_what_started_it(eventually):
    text = "import os, time; print(os.getpid(), flush=True); time.sleep(500)"
    with subprocess.Popen([forked_python(), "-c", text], stdout=subprocess.PIPE) as process:
        place = Path("/proc", process.stdout.readline().decode().strip())
        assert place.exists()
        process.kill()
    eventually(lambda: not place.exists())


@pytest.mark.parametrize("sent", ["nothing", "a half", "all"])
def test_programs_are_forked_after_one_whose_client_was_killed_while_it_asked(sent, tmp_path):
    program = start_programs("support.session.forked_python", ["python"]) / "python"
    request = marshal.dumps((["python", "-c", "input()"], dict(os.environ), str(tmp_path)))
    reading, writing = os.pipe()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(program.parent / "socket"))
        client.shutdown(socket.SHUT_RD)  # it does not read the response
        if sent != "nothing":
            # its standard input is a pipe that does not end before the program does
            head = len(request).to_bytes(8, "big")
            socket.send_fds(client, [head], [reading, writing, writing])
            client.sendall(request if sent == "all" else request[:9])
    os.close(writing)
    assert run("-c", "print(1)", python=program).stdout == "1\n"
    with open(reading, "rb") as pipe:  # noqa: PTH123  a descriptor
        assert pipe.read() == b""  # the program of the killed client has ended


def test_a_shell_finds_the_command():
    environment = {"PATH": program_path()}
    words = ["/bin/sh", "-c", "anabranch gc --help"]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == run("-m", "anabranch", "gc", "--help").stdout != ""
