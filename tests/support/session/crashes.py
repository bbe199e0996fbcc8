"""What is known of a worker that crashed, in the report of the test that it ran: how it ended, and
where each of its threads was.

pytest-xdist says only that it is gone. A worker that is gone once in a thousand runs must leave all
that there is to know, in the one report that will be read.
"""

from __future__ import annotations

import faulthandler
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Crashes", "write_tracebacks"]

_FILE = "tracebacks_file"
_END_SECONDS = 3


class Crashes:
    """The workers of a run, for xdist's controller."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="workers-")
        self._ended: dict[str, str] = {}

    def expect(self, node: Any) -> None:
        """Tells a worker that begins where to write the tracebacks of its threads."""
        node.workerinput[_FILE] = str(Path(self._folder.name, node.gateway.id))

    def note_crash(self, node: Any) -> None:
        """Notes how a worker has crashed."""
        how = _status(node.gateway._io.popen)
        file = Path(node.workerinput[_FILE])
        tracebacks = file.read_text(errors="replace") if file.exists() else ""
        self._ended[node.gateway.id] = f"it {how}\n{tracebacks}"

    def explain(self, report: pytest.TestReport) -> None:
        """Adds how its worker ended to the report of the test that it ran."""
        worker = report.node.gateway.id
        report.longrepr = f"{report.longrepr}: {self._ended[worker]}"


def write_tracebacks(config: pytest.Config) -> None:
    """Lets a worker write where its threads are, if the system ends it by a signal that it can
    notice, and does nothing in other processes.
    """
    path = getattr(config, "workerinput", {}).get(_FILE)
    if path is not None:
        # never closed: it may be written at any time, and the process ends soon after the tests
        faulthandler.enable(open(path, "w"))  # noqa: PTH123, SIM115


def _status(process: subprocess.Popen[bytes]) -> str:
    try:
        status = process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        return "has closed its connection and still runs"
    if status >= 0:
        return f"exited with status {status}"
    return f"was ended by {signal.Signals(-status).name}"
