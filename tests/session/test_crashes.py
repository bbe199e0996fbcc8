"""The report of a test whose worker crashed says how, and where its threads were."""

from __future__ import annotations

import os
import re
import subprocess
import sys

TESTS = """
import faulthandler, os, signal

def test_good():
    pass

def test_segmentation_fault():
    ends_here(faulthandler._sigsegv)

def test_kill():
    ends_here(os.kill, os.getpid(), signal.SIGKILL)

def test_exit():
    ends_here(os._exit, 7)

def ends_here(end, *arguments):
    end(*arguments)
"""
LOCATION = r'File ".*test_suite\.py", line \d+ in ends_here'


def test_the_report_says_how_a_worker_ended(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_suite.py").write_text(TESTS)
    plugins = ["-p", "xdist.plugin", "-p", "support.session.crashes"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n1", *plugins, f"--basetemp={tmp_path}/b"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "3 failed, 1 passed" in ran.stdout
    reports = dict(
        re.findall(r"test_suite\.py::(test_\w+)': it (.*(?:\n[^_=\n].*|\n)*)", ran.stdout)
    )
    assert reports["test_segmentation_fault"].startswith("was ended by SIGSEGV\n")
    assert re.search(LOCATION, reports["test_segmentation_fault"])
    assert reports["test_kill"].strip() == "was ended by SIGKILL"
    assert reports["test_exit"].strip() == "exited with status 7"
