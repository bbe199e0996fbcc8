"""What a newcomer does first, with nothing but a wheel: install it, follow the tutorial, merge a
change that is checked. Packages come from the registry, or from pip's cache.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.checkout import ROOT
from support.services.ending import end
from support.services.installed_wheel import write_wheel

PAGE = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
START, KEYS, *BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(PYTHON,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8000"
LIMIT_SECONDS = 60
CHECK = """\
name: rivers stay small
on:
  pre-merge:
    branches: [main]
hooks:
  - id: rules
    type: check
    properties:
      files:
        - {path: "data/**", formats: [csv], max_size: 1 MB}
"""
CHECKED = """
anabranch repo create lakefs://checked local://checked --sample-data
anabranch branch create lakefs://checked/checks --source lakefs://checked/main
anabranch fs upload lakefs://checked/checks/_lakefs_actions/check.yaml --source check.yaml
anabranch commit lakefs://checked/checks -m "Check files before merges"
anabranch merge lakefs://checked/checks main
anabranch branch create lakefs://checked/measure --source lakefs://checked/main
anabranch fs cat lakefs://checked/measure/data/rivers.csv > rivers.csv
echo 'Elbe,1094,4' >> rivers.csv
anabranch fs upload lakefs://checked/measure/data/rivers.csv --source rivers.csv
anabranch commit lakefs://checked/measure -m "The Elbe"
anabranch merge lakefs://checked/measure main
anabranch fs cat lakefs://checked/main/data/rivers.csv
anabranch actions runs list lakefs://checked --branch main
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return write_wheel(tmp_path_factory.mktemp("wheel"))


def variables(folder):
    """The environment of a shell in which the virtual environment is active."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {**kept, "HOME": str(folder), "PATH": f"{folder}/lake/bin:/usr/bin:/bin"}


def shell(script, folder, **more):
    """Runs what a reader types, and returns what it prints."""
    ran = subprocess.run(
        ["/bin/sh", "-eu", "-c", script],
        cwd=folder,
        env=variables(folder) | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def install(wheel, folder, extra=""):
    pip = "lake/bin/pip install --quiet --disable-pip-version-check"
    shell(f"{sys.executable} -m venv lake", folder)
    shell(f"{pip} --cache-dir {cache_of_pip()} -c {ROOT}/constraints.txt '{wheel}{extra}'", folder)


def cache_of_pip():
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches, "pip")


@contextmanager
def quickstart(folder):
    """Starts the server as the page says, on a free port; yields its address."""
    words = [*START.split()[1:], "--no-open", "--listen", "127.0.0.1:0"]
    log = folder / "server.log"
    with log.open("wb") as written:
        server = subprocess.Popen(
            [f"{folder}/lake/bin/{words[0]}", *words[1:]],
            cwd=folder,
            env=variables(folder) | {"PYTHONUNBUFFERED": "1"},
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    try:
        while "in total" not in (text := log.read_text()):
            assert server.poll() is None, text
            time.sleep(0.02)
        yield re.search(r"http://127\.0\.0\.1:\d+", text)[0]
    finally:
        end(server)


def typed(block, address):
    return re.sub(r"^\$ ", "", block, flags=re.MULTILINE).replace(ADDRESS, address)


def test_the_tutorial_works_from_a_wheel(wheel, tmp_path):
    install(wheel, tmp_path, "[query]")
    with quickstart(tmp_path) as address:
        printed = shell(typed(KEYS + "".join(BLOCKS), address), tmp_path)
        assert re.findall(r"^Amazon,(\d+)", printed, re.MULTILINE) == [
            *("6575", "6400", "6400", "6400")
        ]
        assert printed.endswith("refused\n")
        (tmp_path / "read.py").write_text(PYTHON)
        shell("python read.py", tmp_path)


def test_a_checked_change_is_merged_a_minute_after_pip_install(wheel, tmp_path):
    (tmp_path / "check.yaml").write_text(CHECK)
    begin, busy_before = time.monotonic(), os.times()
    install(wheel, tmp_path)
    with quickstart(tmp_path) as address:
        printed = shell(typed(KEYS, address) + CHECKED, tmp_path)
    seconds = time.monotonic() - begin
    busy = os.times()
    cpu = sum(busy[2:4]) - sum(busy_before[2:4])
    print(f"{seconds:.1f} s, {cpu:.1f} s of processors")
    assert "Elbe,1094,4" in printed
    assert "completed" in printed.splitlines()[-1]
    assert cpu <= LIMIT_SECONDS, "on a busy machine the clock says nothing"


@pytest.mark.parametrize("runner", ["uvx --from", "pipx run --spec"])
def test_runners_of_programs_take_the_wheel(wheel, tmp_path, runner):
    tool = {"uvx": "uv", "pipx": "pipx"}[runner.split()[0]]
    shell(f"{sys.executable} -m venv lake", tmp_path)
    shell(f"lake/bin/pip install --quiet --disable-pip-version-check {tool}", tmp_path)
    printed = shell(
        f"{runner} {wheel} anabranch quickstart --exit --no-open --data d --listen 127.0.0.1:0",
        tmp_path,
        UV_PYTHON=sys.executable,
        UV_SYSTEM_CERTS="true",
        PIPX_DEFAULT_PYTHON=sys.executable,
    )
    assert "Tag the result" in printed
