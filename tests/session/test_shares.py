"""Each test of a run runs exactly once, whichever worker collects it, also if a worker crashes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from support.session.scopes import recorded_seconds, scope_of
from support.session.shares import shares

ROOT = Path(__file__).parents[2]
FILES = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
CONFTEST = """
import os
from support.session.scheduling import ByFile, sort_for_workers
from support.session.shares import give_share, is_of_another_worker

def pytest_ignore_collect(collection_path, config):
    return is_of_another_worker(collection_path, config) or None

def pytest_collection_modifyitems(config, items):
    sort_for_workers(items, config)

def pytest_collection_finish(session):
    with open("collected", "a") as file:
        files = sorted({item.path.name for item in session.items})
        file.write(os.environ["PYTEST_XDIST_WORKER"] + " " + " ".join(files) + chr(10))

def pytest_configure_node(node):
    give_share(node)

def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)
"""
TESTS = """
import os
from pathlib import Path

import pytest

@pytest.mark.parametrize("number", range(3))
def test_one(number, request):
    if "{end}" == request.node.nodeid and not Path("ended").exists():
        Path("ended").touch()
        os._exit(1)
"""


@pytest.mark.parametrize("workers", [2, 3, 6, len(FILES)])
def test_a_file_is_of_all_workers_or_of_one(workers):
    common, own = shares(FILES, workers)
    assert len(own) == workers
    assert sorted(chain(common, *own)) == sorted(FILES)


def time_of(files):
    return sum(map(recorded_seconds, files))


def test_workers_have_as_much_time_of_their_own_and_much_is_common():
    common, own = shares([file for file in FILES if scope_of(file) != "spark"], 3)
    times = [time_of(files) for files in own]
    whole = time_of(chain(common, *own))
    assert max(times) - min(times) < 0.02 * whole
    assert 0.35 * whole < time_of(common) < 0.5 * whole
    assert len(common) < len(FILES) / 5


def test_what_takes_a_worker_most_of_the_run_begins_at_once():
    _, own = shares(FILES, 3)
    spark, *others = own
    assert {*map(scope_of, spark)} == {"spark"}
    times = [time_of(files) for files in others]
    assert time_of(spark) > max(times) > 0.95 * min(times)


def test_files_that_share_a_service_stay_together():
    common, own = shares(FILES, 3)
    homes = {scope: set() for scope in map(scope_of, FILES)}
    for number, files in enumerate([common, *own]):
        for file in files:
            homes[scope_of(file)].add(number)
    assert {len(found) for found in homes.values()} == {1}
    assert any(file.startswith("tests/simulation/") for file in common)


def test_no_files_are_no_shares():
    assert shares([], 2) == ([], [[], []])


def suite(folder, end=""):
    """Makes six files of three tests in a folder; that with the id `end` ends its worker once."""
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = suite\n")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "suite").mkdir()
    for name in "abcdef":
        (folder / "suite" / f"test_{name}.py").write_text(TESTS.replace("{end}", end))


def run(folder, *arguments):
    own = ["-n2", "-p", "xdist.plugin", f"--basetemp={folder}/temporary"]
    command = [sys.executable, "-m", "pytest", "-v", *own, *arguments]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    passed = Counter(re.findall(r"PASSED (\S+)", ran.stdout))
    lines = (folder / "collected").read_text().splitlines()
    return ran, passed, dict(line.split(" ", 1) for line in lines)


ALL = {f"suite/test_{name}.py::test_one[{number}]": 1 for name in "abcdef" for number in range(3)}
COMMON = "test_a.py test_b.py test_c.py"


def test_a_whole_run_has_each_test_once(tmp_path):
    suite(tmp_path)
    ran, passed, collected = run(tmp_path)
    assert (ran.returncode, passed) == (0, ALL), ran.stdout
    assert "[100%]" in ran.stdout
    assert collected == {"gw0": f"{COMMON} test_d.py test_e.py", "gw1": f"{COMMON} test_f.py"}


def test_own_tests_of_a_worker_that_ends_are_run_by_one_that_replaces_it(tmp_path):
    suite(tmp_path, end="suite/test_f.py::test_one[1]")
    ran, passed, collected = run(tmp_path)
    assert passed == ALL, ran.stdout
    assert ran.returncode == 1
    assert "crashed while running 'suite/test_f.py::test_one[1]'" in ran.stdout
    assert collected["gw2"] == f"{COMMON} test_d.py test_e.py test_f.py"


@pytest.mark.slow
def test_all_workers_collect_the_files_that_a_command_names(tmp_path):
    suite(tmp_path)
    ran, passed, collected = run(tmp_path, "suite")
    assert (ran.returncode, passed) == (0, ALL), ran.stdout
    assert collected["gw0"] == collected["gw1"] == f"{COMMON} test_d.py test_e.py test_f.py"


@pytest.mark.slow
def test_workers_that_find_different_tests_in_a_file_do_not_run(tmp_path):
    suite(tmp_path)
    (tmp_path / "suite" / "test_b.py").write_text(
        "import os\nexec(f'def test_of_{os.environ[\"PYTEST_XDIST_WORKER\"]}(): ...')\n"
    )
    ran, passed, _ = run(tmp_path)
    assert ran.returncode != 0
    assert passed == {}
    assert "Different tests were collected between gw" in ran.stdout
