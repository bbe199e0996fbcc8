"""Check that the address to listen on belongs to this machine, and is free or the server's own."""

from __future__ import annotations

import errno
import socket

from anabranch.server.config.settings import Address
from anabranch.server.doctor.check_result import CheckResult, State
from anabranch.server.doctor.running_server import check_running_server

__all__ = ["check_address"]

ABOUT = "address"


def check_address(address: Address) -> list[CheckResult]:
    """Listens on the address briefly; if a server of Anabranch does so, its metrics are read."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        with socket.socket(family) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((address.host, address.port))
            listening.listen(1)
    except OSError as error:
        return _failure(address, error)
    return [CheckResult(ABOUT, State.SOUND, f"{address} is free")]


def _failure(address: Address, error: OSError) -> list[CheckResult]:
    if error.errno == errno.EADDRINUSE:
        running = check_running_server(address)
        if running is not None:
            return running
        message = f"another program listens on {address}"
        hint = "If a server of yours has another address, name it: --listen HOST:PORT."
        return [CheckResult(ABOUT, State.DOUBTFUL, message, hint)]
    message = f"cannot listen on {address}: {error.strerror or error}"
    hint = "Set listen_address to an address of this machine and a port that its user may use."
    return [CheckResult(ABOUT, State.WRONG, message, hint)]
