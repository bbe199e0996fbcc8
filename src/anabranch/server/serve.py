"""Serves one address with one or several processes, until a signal to stop.

The line with the address is printed when all processes accept connections, so that a program that
reads the line can connect. A stopping server responds to the requests that it has received.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection as Pipe
from typing import Any, cast

import msgspec
import uvicorn

from anabranch.errors import AnabranchError, Invalid
from anabranch.server.composition import Composition
from anabranch.server.config.settings import Settings
from anabranch.server.http.connection import Connection
from anabranch.server.observability.count_log import log_regularly
from anabranch.server.observability.logs import configure_logs
from anabranch.server.observability.metrics import join_shared, shared_among_processes
from anabranch.server.process.descriptors import watch_descriptors
from anabranch.server.process.sockets import BACKLOG, listen, refuse_new_connections, url_of
from anabranch.server.process.supervisor import CANNOT_START, supervise

__all__ = ["serve"]

GRACE_SECONDS = 10
KEEP_ALIVE_SECONDS = 75
WATCH_SECONDS = 1.0
DRAIN_ROUNDS = 5
DRAIN_SECONDS = 0.05

_log = logging.getLogger(__name__)


class Worker(msgspec.Struct, frozen=True):
    """The work of one of several processes; picklable."""

    settings: Settings
    parent: int

    def __call__(self, listening: socket.socket, ready_pipe: Pipe) -> None:
        """Serves on a socket until a signal to stop or the end of its parent; sends a message to
        `ready_pipe` when it accepts connections.
        """
        configure_logs(self.settings.logging)
        join_shared()
        try:
            composition = Composition(self.settings)
            composition.start()
        except AnabranchError as error:
            _log.error("%s", error.message)
            sys.exit(CANNOT_START)
        threading.Thread(target=_end_with, args=(self.parent,), daemon=True).start()
        _run(composition, listening, lambda: ready_pipe.send_bytes(b"serving"))


class _Server(uvicorn.Server):
    """uvicorn's server, which reports when it accepts connections and drains received requests
    before it stops.
    """

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], composition: Composition
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._composition = composition
        self._watches: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._watches = [
            asyncio.ensure_future(watch_descriptors()),
            asyncio.ensure_future(log_regularly(self._composition.count_logs)),
        ]
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # uvicorn would close connections that were not accepted or read yet; clients that receive
        # `Connection: close` send no further requests on connections that will be closed
        state = self.server_state
        state.default_headers = [*state.default_headers, (b"connection", b"close")]
        for remaining in reversed(range(DRAIN_ROUNDS)):
            if not remaining:
                for listening in sockets or ():
                    refuse_new_connections(listening)
            await asyncio.sleep(DRAIN_SECONDS)
        await super().shutdown(sockets)
        for watch in self._watches:
            watch.cancel()
        if not self.force_exit:
            await asyncio.to_thread(self._composition.close)


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serves until a signal to stop; calls `announce` with the URL when it accepts connections.

    Raises Invalid for invalid settings, Busy for an address that is in use and if no worker process
    can be started, and the errors of the stores.
    """
    workers = settings.workers or os.cpu_count() or 1
    if workers > 1 and "mem" in {settings.database.type, settings.blockstore.type}:
        raise Invalid(
            "a store in memory cannot be shared by several workers",
            kind="invalid_settings",
            hint="Set workers to 1, or use stores of type local.",
        )
    configure_logs(settings.logging)
    composition = Composition(settings)
    composition.start()
    sockets = listen(settings.listen_address, workers)
    url = url_of(sockets[0])
    if workers == 1:
        _run(composition, sockets[0], lambda: announce(url))
        return
    composition.close()
    with shared_among_processes():
        supervise(Worker(settings, os.getpid()), sockets, lambda: announce(url))


def tune_collector() -> None:
    """Tunes Python's garbage collector for a server: it no longer scans objects that exist now, and
    scans new ones less often, since requests create hardly any cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _run(composition: Composition, listening: socket.socket, ready: Callable[[], None]) -> None:
    tune_collector()
    # uvicorn handles the signal while it serves, and raises it again after it has stopped
    signal.signal(signal.SIGTERM, _exit)
    config = uvicorn.Config(
        _no_application,
        interface="asgi3",
        loop="uvloop" if find_spec("uvloop") else "asyncio",  # uvloop is an extra: fast
        http=cast(
            "Any",
            partial(Connection, dispatcher=composition.dispatcher, limits=composition.limits),
        ),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    _Server(config, ready, composition).run(sockets=[listening])


async def _no_application(_scope: object, _receive: object, _send: object) -> None:
    """A placeholder for the ASGI application, which only uvicorn's own protocols call."""


def _exit(_number: int, _frame: object) -> None:
    """Exits normally: a signal to stop is not a failure."""
    sys.exit(0)


def _end_with(parent: int) -> None:
    """Stops this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
