"""Serving: one address, one process or several, until told to stop.

Every process serves before the line with the address is printed, so that a program that reads
the line can connect. A stopping server responds to the requests that it has received.
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
from multiprocessing.connection import Connection as Pipe
from typing import Any, cast

import msgspec
import uvicorn

from anabranch.errors import AnabranchError, Invalid
from anabranch.server.composition import Composition
from anabranch.server.config.settings import Settings
from anabranch.server.http.connection import Connection
from anabranch.server.observability.logs import configure_logs
from anabranch.server.observability.metrics import join_shared, shared_among_processes
from anabranch.server.process.descriptors import watch_descriptors
from anabranch.server.process.sockets import BACKLOG, listen, refuse_new_connections, url_of
from anabranch.server.process.supervisor import CANNOT_START, supervise

__all__ = ["serve"]

GRACE_SECONDS = 10
KEEP_ALIVE_SECONDS = 75
WATCH_SECONDS = 1.0
LAST_LOOKS = 5
LAST_LOOK_SECONDS = 0.05

_log = logging.getLogger(__name__)


class Worker(msgspec.Struct, frozen=True):
    """What one of several processes does; plain data, so that it can be sent to one."""

    settings: Settings
    parent: int

    def __call__(self, listening: socket.socket, says: Pipe) -> None:
        """Serves on a socket until told to stop, or until its parent is no more; says when."""
        configure_logs(self.settings.logging)
        join_shared()
        try:
            composition = Composition(self.settings)
            composition.start()
        except AnabranchError as error:
            _log.error("%s", error.message)
            sys.exit(CANNOT_START)
        threading.Thread(target=_end_with, args=(self.parent,), daemon=True).start()
        _run(composition, listening, lambda: says.send_bytes(b"serving"))


class _Server(uvicorn.Server):
    """uvicorn's, which says when it serves, and when told to stop first looks what has come."""

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
            asyncio.ensure_future(self._composition.limits.log_regularly()),
        ]
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # connections that wait to be taken, and requests not read yet, are not under way for
        # uvicorn: it would cut them off; clients that are told so send nothing more on connections
        # that are about to be closed
        state = self.server_state
        state.default_headers = [*state.default_headers, (b"connection", b"close")]
        for left in reversed(range(LAST_LOOKS)):
            if not left:
                for listening in sockets or ():
                    refuse_new_connections(listening)
            await asyncio.sleep(LAST_LOOK_SECONDS)
        await super().shutdown(sockets)
        for watch in self._watches:
            watch.cancel()
        if not self.force_exit:
            await asyncio.to_thread(self._composition.close)


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serves until a signal to stop; `announce` is called with the URL once it serves.

    Raises Invalid for settings that cannot be served, Busy for an address that is taken and when
    none of several processes can be started any more, and what the stores raise.
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
    sockets = listen(settings.listen_address, workers)
    url = url_of(sockets[0])
    if workers == 1:
        _run(composition, sockets[0], lambda: announce(url))
        return
    composition.close()
    with shared_among_processes():
        supervise(Worker(settings, os.getpid()), sockets, lambda: announce(url))


def tune_collector() -> None:
    """Sets the garbage collector for a server: nothing that was made to last is looked at again,
    and young objects less often, since requests leave hardly any cycles behind.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _run(composition: Composition, listening: socket.socket, ready: Callable[[], None]) -> None:
    tune_collector()
    # uvicorn takes the signal while it serves, and raises it again when it has stopped
    signal.signal(signal.SIGTERM, _exit)
    config = uvicorn.Config(
        _no_application,
        interface="asgi3",
        loop="uvloop",
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
    """Stands where uvicorn wants an application of ASGI; its protocols alone would call it."""


def _exit(_number: int, _frame: object) -> None:
    """Ends the process in order: to be asked to stop is no failure."""
    sys.exit(0)


def _end_with(parent: int) -> None:
    """Stops this process when its parent is no more, however that came to its end."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
