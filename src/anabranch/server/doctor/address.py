"""Check that the address to listen on belongs to this machine and is free."""

from __future__ import annotations

import errno
import socket

from anabranch.server.config.settings import Address
from anabranch.server.doctor.check_result import CheckResult, State

__all__ = ["check_address"]

ABOUT = "address"


def check_address(address: Address) -> list[CheckResult]:
    """Listens on the address briefly."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        with socket.socket(family) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((address.host, address.port))
            listening.listen(1)
    except OSError as error:
        return [_failure(address, error)]
    return [CheckResult(ABOUT, State.SOUND, f"{address} is free")]


def _failure(address: Address, error: OSError) -> CheckResult:
    if error.errno == errno.EADDRINUSE:
        message = f"another program listens on {address}"
        hint = "If that is not your server, set listen_address to another port."
        return CheckResult(ABOUT, State.DOUBTFUL, message, hint)
    message = f"cannot listen on {address}: {error.strerror or error}"
    hint = "Set listen_address to an address of this machine and a port that its user may use."
    return CheckResult(ABOUT, State.WRONG, message, hint)
