"""Processes of their own: messages with bytes, deadlines, limits, and how they end."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from anabranch.child_process.child import Child, ChildEnded, ChildHangs


@pytest.fixture
def start(tmp_path):
    """Returns a function that starts a process with a program, which has a `parent`."""

    def start(program, seconds=60.0):
        lines = "from anabranch.child_process.parent import Parent\nparent = Parent()\n"
        (tmp_path / "program.py").write_text(lines + textwrap.dedent(program))
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
        return Child("program", time.monotonic() + seconds, environment=environment)

    return start


def test_messages_carry_bytes_in_both_directions(start):
    echo = """
        while True:
            value, data = parent.receive()
            parent.send({"echo": value}, data[::-1])
    """
    data = os.urandom(3 << 20)
    with start(echo) as child:
        for part in (data, b"", b"\n{}\n", data):
            child.send({"a": "é\n"}, part)
            assert child.receive() == ({"echo": {"a": "é\n"}}, part[::-1])


def test_errors_of_calls_keep_their_class_kind_and_hint(start):
    program = """
        from anabranch.errors import NotFound, AnabranchError
        parent.receive()
        for expected in (NotFound, AnabranchError):
            try:
                parent.call("read")
            except expected as error:
                parent.send({"caught": [type(error).__name__, str(error), error.kind, error.hint]})
            parent.receive()
    """
    with start(program) as child:
        child.send({})
        for cls, caught in (("NotFound", "NotFound"), ("RangeNotSatisfiable", "AnabranchError")):
            assert child.receive() == ({"call": "read"}, b"")
            about = {"class": cls, "message": "no", "kind": "object_not_found", "hint": "look"}
            child.send({"error": about})
            assert child.receive()[0] == {"caught": [caught, "no", "object_not_found", "look"]}
            child.send({})


@pytest.mark.slow
def test_a_process_that_does_not_read_does_not_hold_up_the_writer(start):
    with start("import time; time.sleep(600)", 1.0) as child, pytest.raises(ChildHangs):
        child.send({}, bytes(8 << 20))


def test_a_process_that_sends_for_ever_is_stopped_at_the_deadline(start):
    program = "while True: parent.send({'output': 'x' * 1000})"
    with start(program, 0.5) as child, pytest.raises(ChildHangs):
        list(iter(child.receive, None))


def test_the_end_of_a_process_is_reported_by_its_last_line(start):
    with start("import sys; sys.exit('gone away')") as child:
        with pytest.raises(ChildEnded, match="gone away"):
            child.receive()
        with pytest.raises(ChildEnded):
            child.send({}, bytes(1 << 20))


def test_closing_ends_the_process_and_its_children(start, eventually):
    program = """
        import os, time
        if os.fork() == 0:
            time.sleep(600)
        parent.send({"group": os.getpgid(0)})
        time.sleep(600)
    """
    with start(program) as child:
        group = child.receive()[0]["group"]

    def alive():
        command = ["ps", "-eo", "pgid,stat"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        pairs = [line.split() for line in listed.splitlines()]
        return [stat for found, stat in pairs if found == str(group) and not stat.startswith("Z")]

    eventually(lambda: not alive())


def test_closing_ends_what_has_left_the_session(start, eventually):
    program = """
        import subprocess, time
        forks = "while true; do sleep 600 & sleep 0.05; done"
        for command in ("sleep 600", "(setsid sleep 600 &)", f"setsid sh -c '{forks}'"):
            subprocess.run(["sh", "-c", f"{command} & true"], check=True)
        parent.send({})
        time.sleep(600)
    """
    mark = f"CHILD_{os.getpid()}_{time.monotonic_ns()}"
    os.environ[mark] = ""
    try:
        with start(program) as child:
            child.receive()
            eventually(lambda: len(with_variable(mark)) > 10)
    finally:
        del os.environ[mark]
    eventually(lambda: not with_variable(mark))


def with_variable(name):
    """Returns the ids of other processes that run with an environment variable."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if name.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended
    return [pid for pid in found if pid != os.getpid()]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "program",
    [
        "import os; os.write(parent._output.fileno(), b'[1]\\n')",
        "import os; os.write(parent._output.fileno(), b'nonsense\\n')",
        "import os; os.write(parent._output.fileno(), b'{\"bytes\": -1}\\n')",
        "import os; os.write(parent._output.fileno(), b'[' * 50_000 + b'\\n')",
        "import os; os.write(parent._output.fileno(), b'{\"bytes\": 99999999999}\\n')",
    ],
)
def test_what_is_no_message_is_a_value_error(start, program):
    with start(program) as child, pytest.raises(ValueError, match=r".+"):
        child.receive()


def test_memory_and_files_beyond_the_limits_are_refused(start):
    program = """
        from anabranch.child_process.limits import Limits
        Limits(memory_bytes=512 << 20, cpu_seconds=100).apply()
        try:
            bytearray(1 << 30)
        except MemoryError:
            parent.send({"refused": True})
    """
    with start(program) as child:
        assert child.receive()[0] == {"refused": True}


def test_processor_time_beyond_the_limit_ends_the_process(start):
    program = """
        from anabranch.child_process.limits import Limits
        Limits(cpu_seconds=1).apply()
        while True:
            pass
    """
    with start(program) as child, pytest.raises(ChildEnded, match="ended without a result"):
        child.receive()


def test_a_process_dies_with_its_parent(tmp_path, eventually):
    program = """
        import time
        from anabranch.child_process.parent import Parent
        Parent().send({"ready": True})
        time.sleep(600)
    """
    (tmp_path / "sleeper.py").write_text(textwrap.dedent(program))
    starter = """
        import os, time
        from anabranch.child_process.child import Child
        with Child("sleeper", time.monotonic() + 600) as child:
            child.receive()
            print(child._process.pid, flush=True)
            time.sleep(600)
    """
    paths = (str(tmp_path), os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", textwrap.dedent(starter)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert b"sleeper" in command_line(pid)
        parent.kill()
    eventually(lambda: not command_line(pid))


def command_line(pid):
    """Returns the command line of a process, empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
