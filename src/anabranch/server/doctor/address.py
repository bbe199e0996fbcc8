"""The address to listen on: this machine's, and free."""

from __future__ import annotations

import errno
import socket

from anabranch.server.config.settings import Address
from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["check_address"]

ABOUT = "address"


def check_address(address: Address) -> list[CheckResult]:
    """Listens on the address for a moment."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((address.host, address.port))
            trial.listen(1)
    except OSError as error:
        return [_finding(address, error)]
    return [CheckResult(ABOUT, State.SOUND, f"{address} is free")]


def _finding(address: Address, error: OSError) -> CheckResult:
    if error.errno == errno.EADDRINUSE:
        message = f"another program listens on {address}"
        hint = "If that is not your server, set listen_address to another port."
        return CheckResult(ABOUT, State.DOUBTFUL, message, hint)
    message = f"cannot listen on {address}: {error.strerror or error}"
    hint = "Set listen_address to an address of this machine and a port that its user may use."
    return CheckResult(ABOUT, State.WRONG, message, hint)
