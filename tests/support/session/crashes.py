"""The report of a test whose worker crashed says how the worker ended, and where each of its
threads was: a plugin of pytest.

pytest-xdist reports only that a worker is gone. A crash that happens once in a thousand runs must
leave all there is to know, in the one report that will be read.
"""

from __future__ import annotations

import faulthandler
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

__all__ = ["pytest_configure", "pytest_configure_node", "pytest_handlecrashitem"]

_FILE = "tracebacks_file"
_FOLDER = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
_END_SECONDS = 3


@pytest.hookimpl(trylast=True)  # after pytest's own plugin, which writes to standard error
def pytest_configure(config: pytest.Config) -> None:
    """Lets a worker write where its threads are, if it ends by a signal that it can notice."""
    path = getattr(config, "workerinput", {}).get(_FILE)
    if path is not None:
        # never closed: it may be written at any time, and the process ends soon after the tests
        faulthandler.enable(open(path, "w"))  # noqa: PTH123, SIM115


@pytest.hookimpl(optionalhook=True)  # xdist's, as the next one
def pytest_configure_node(node: Any) -> None:
    """Tells a worker that begins where to write the tracebacks of its threads."""
    stash = node.config.stash
    if _FOLDER not in stash:
        stash[_FOLDER] = tempfile.TemporaryDirectory(prefix="workers-")
    node.workerinput[_FILE] = str(Path(stash[_FOLDER].name, node.gateway.id))


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(report: pytest.TestReport) -> None:
    """Adds how its worker ended to the report of the test that it ran."""
    how = _status(report.node.gateway._io.popen)
    file = Path(report.node.workerinput[_FILE])
    tracebacks = file.read_text(errors="replace") if file.exists() else ""
    report.longrepr = f"{report.longrepr}: it {how}\n{tracebacks}"


def _status(process: subprocess.Popen[bytes]) -> str:
    try:
        status = process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        return "has closed its connection and still runs"
    if status >= 0:
        return f"exited with status {status}"
    return f"was ended by {signal.Signals(-status).name}"
