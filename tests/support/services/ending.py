"""The end of a process that tests started."""

from __future__ import annotations

import signal
import subprocess
from typing import Any

__all__ = ["end"]

_STOP_SECONDS = 30


def end(process: subprocess.Popen[Any], number: signal.Signals = signal.SIGTERM) -> None:
    """Sends a signal to stop, and kills what runs half a minute later. Closes its output."""
    process.send_signal(number)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
