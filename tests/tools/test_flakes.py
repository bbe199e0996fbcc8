"""`make flakes`: the failures that it must find, and the processes that must end with it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from itertools import filterfalse
from pathlib import Path

import pytest

from anabranch.child_process.descendants import descendants, has_ended

FLAKES = Path(__file__).parents[2] / "tools" / "flakes"
SUITE = Path(__file__).parent / "data" / "flaky_suite.py"
# the suite needs no plugin; to load those that are installed takes seconds
ENVIRONMENT = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
ENVIRONMENT.pop("LD_PRELOAD", None)  # of `make flakes`, which runs this test, too
UNDISTURBED = ["--rounds=1", "--busy=0", "--late=0", "--disk=0"]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="a slow disk and late responses need Linux and a C compiler",
)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder with the suite."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    shutil.copy(SUITE, tmp_path / "test_suite.py")
    return tmp_path


def flakes(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, FLAKES, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


def failed(output: str) -> dict[str, str]:
    """Returns the rounds in which tests failed, by the tests' names."""
    lines = re.findall(r"^\d of \d  test_suite.py::(\w+)  \(rounds (.+)\)$", output, re.MULTILINE)
    return dict(lines)


@pytest.mark.slow
def test_tests_that_need_an_order_a_fast_disk_or_fast_responses_are_listed(suite):
    options = ["--rounds=2", "--seed=1", "--busy=1", "--late=300", "--disk=300"]
    ran = flakes(suite, *options, "--", "-q")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    found = failed(ran.stdout)
    assert set(found) == {"test_begins", "test_fast_disk", "test_fast_responses"}
    assert found["test_begins"] == "1"
    assert "repeat round 1: python tools/flakes --rounds=1 --seed=1 --busy=1" in ran.stdout


@pytest.mark.slow
def test_a_seed_repeats_an_order_and_without_limits_nothing_is_slow(suite):
    bad, good = (flakes(suite, *UNDISTURBED, f"--seed={seed}", "--", "-q") for seed in (1, 2))
    assert (bad.returncode, failed(bad.stdout)) == (1, {"test_begins": "1"}), bad.stdout
    assert (good.returncode, failed(good.stdout)) == (0, {}), good.stdout


def test_a_round_without_a_test_is_no_success(suite):
    ran = flakes(suite, *UNDISTURBED, "--", "-k", "nothing")
    assert ran.returncode == 2
    assert "round 1 has no verdict" in ran.stdout


@pytest.mark.slow
def test_a_file_that_cannot_be_imported_is_listed(suite):
    (suite / "test_broken.py").write_text("import nothing_of_this_name\n")
    ran = flakes(suite, *UNDISTURBED, "--", "-q")
    assert ran.returncode == 2
    assert "collection: ModuleNotFoundError" in ran.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_all_processes_end_with_the_tool(suite, number, eventually):
    started = suite / "started"
    (suite / "test_suite.py").write_text(
        "import os, pathlib, subprocess, time\n"
        "def test_hangs():\n"
        "    child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"    path = pathlib.Path({str(started)!r})\n"
        "    path.with_suffix('.new').write_text(str(child.pid))\n"
        "    path.with_suffix('.new').rename(path)\n"
        "    time.sleep(600)\n"
    )
    with start(suite) as tool:
        eventually(started.exists)
        processes = list(descendants(tool.pid))
        assert int(started.read_text()) in processes
        assert len([pid for pid in processes if b"FLAKES_PARENT" in command(pid)]) == 2
        tool.send_signal(number)
        tool.wait()
    assert tool.returncode == 128 + number
    assert [pid for pid in processes if not has_ended(pid)] == []


def test_busy_processes_end_with_a_tool_that_is_killed(suite, eventually):
    def busy_processes() -> list[int]:
        return [pid for pid in descendants(tool.pid) if b"FLAKES_PARENT" in command(pid)]

    with start(suite) as tool:
        eventually(lambda: len(busy_processes()) == 2)
        processes, busy = list(descendants(tool.pid)), busy_processes()
        tool.kill()
        tool.wait()
        eventually(lambda: all(map(has_ended, busy)))
        for pid in filterfalse(has_ended, processes):  # pytest
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def start(folder: Path) -> subprocess.Popen[str]:
    """Starts the tool with two busy processes."""
    return subprocess.Popen(
        [sys.executable, FLAKES, "--busy=2", "--late=1", "--disk=1"],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        text=True,
    )


def command(pid: int) -> bytes:
    """Returns the command line of a process, empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
