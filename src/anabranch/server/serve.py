"""Serving: one listening socket, one process or several, until told to stop.

The socket listens before the line with the address is printed, and the stores have been opened
once by then, so that whoever reads the line can connect and be answered.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

import msgspec
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from anabranch.errors import AnabranchError, Busy, Invalid
from anabranch.server.composition import Composition
from anabranch.server.edge import Edge
from anabranch.server.logs import configure_logs
from anabranch.server.settings import Address, Settings

__all__ = ["serve"]

BACKLOG = 2048
GRACE_SECONDS = 10
KEEP_ALIVE_SECONDS = 75
WATCH_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Application(msgspec.Struct, frozen=True):
    """Makes the application of one worker process; plain data, so that it can be sent to one."""

    settings: Settings
    parent: int

    def __call__(self) -> Edge:
        """Returns the application, ready to serve; ends the process where there can be none."""
        configure_logs(self.settings.logging)
        try:
            composition = Composition(self.settings)
            composition.start()
        except AnabranchError as error:
            _log.error("%s", error.message)
            sys.exit(STARTUP_FAILURE)
        threading.Thread(target=_end_with, args=(self.parent,), daemon=True).start()
        tune_collector()
        return composition.edge


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serves until a signal to stop; `announce` is told the address, as a URL, when it listens.

    Raises Invalid for settings that cannot be served, Busy for an address that is taken, and what
    the stores raise.
    """
    workers = settings.workers or os.cpu_count() or 1
    if workers > 1 and "mem" in {settings.database.type, settings.blockstore.type}:
        raise Invalid(
            "a store in memory cannot be shared by several workers",
            kind="invalid_settings",
            hint="Set workers to 1, or store in a folder.",
        )
    configure_logs(settings.logging)
    composition = Composition(settings)
    composition.start()
    listening = _listen(settings.listen_address)
    if workers > 1:
        composition.close()
        announce(_url(listening))
        application = Application(settings, os.getpid())
        Multiprocess(_config(application, workers), sockets=[listening]).run()
        listening.close()
        return
    announce(_url(listening))
    tune_collector()
    uvicorn.Server(_config(composition.edge, 1)).run(sockets=[listening])


def tune_collector() -> None:
    """Sets the garbage collector for a server: nothing that was made to last is looked at again,
    and young objects less often, since requests leave hardly any cycles behind.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _config(application: Callable[..., object], workers: int) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        factory=workers > 1,
        workers=workers,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _listen(address: Address) -> socket.socket:
    host = address.host or "::"
    try:
        family, _, _, _, name = socket.getaddrinfo(
            host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.create_server(
            name[:2],
            family=family,
            backlog=BACKLOG,
            dualstack_ipv6=family == socket.AF_INET6 and not address.host,
        )
    except OSError as error:
        raise Busy(
            f"cannot listen on {address}: {error.strerror or error}",
            kind="cannot_listen",
            hint="Is another server running? Choose another address with --listen.",
        ) from None
    listening.set_inheritable(True)
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    if host in {"::", "0.0.0.0"}:  # noqa: S104  to be shown, not to be bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _end_with(parent: int) -> None:
    """Stops this process when its parent is no more, however that came to its end."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
