"""A TCP proxy that injects faults between a client and a server of any kind.

    with FaultyProxy(("127.0.0.1", 5432)) as proxy:
        ...                                     connect to proxy.port
        proxy.pass_answers(10)                  lets ten more bytes of answers through, then cuts
        proxy.lose_answer(3)                    lets three answers through, takes the next, cuts
        proxy.swallow()                         forward nothing, close no connection

Each direction of a connection is pumped by a thread of its own, which asks the proxy's mode before
it passes anything on.
"""

from __future__ import annotations

import contextlib
import enum
import socket
import struct
import threading
import time
from types import TracebackType
from typing import Self

__all__ = ["FaultyProxy", "Mode"]

_CHUNK = 65536
_TICK_SECONDS = 0.05
_SERVER_SECONDS = 30
_RESET = struct.pack("ii", 1, 0)


class Mode(enum.Enum):
    """What the proxy does with received bytes."""

    PASS = "passes it on"
    SWALLOW = "takes it and holds it back: connections are half open"
    GARBLE = "passes on other bytes, as many"
    REFUSE = "resets each connection at once"


class FaultyProxy:
    """A proxy to the address of a server; listens on `port` of 127.0.0.1. `connections` is how
    many were made through it, `passed` how many bytes went either way, and `round_trips` how often
    a client sent something and had an answer to it.
    """

    def __init__(self, server: tuple[str, int]) -> None:
        self.mode = Mode.PASS
        self.delay_seconds = 0.0
        self.connections = 0
        self.passed = 0
        self.round_trips = 0
        self._server = server
        self._answers_left: int | None = None
        self._lost_round_trip: int | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._unanswered: set[socket.socket] = set()
        self._stalled: set[socket.socket] = set()
        self._closed = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def reset(self) -> None:
        """Passes everything on again, what was held back too; what was cut stays so."""
        self.mode, self.delay_seconds = Mode.PASS, 0.0
        self._answers_left = self._lost_round_trip = None
        self._stalled = set()

    def swallow(self) -> None:
        """Forwards nothing and closes no connection."""
        self.mode = Mode.SWALLOW

    def stall(self) -> None:
        """Holds back what comes over the connections that are open now; new ones are sound."""
        with self._lock:
            self._stalled = set(self._open)

    def garble(self) -> None:
        """Passes on other bytes than it is sent."""
        self.mode = Mode.GARBLE

    def refuse(self) -> None:
        """Cuts all connections, and every new one as soon as it is made."""
        self.mode = Mode.REFUSE
        self.cut()

    def delay(self, seconds: float) -> None:
        """Passes on so much later what comes after a pause, and all that follows without one."""
        self.delay_seconds = seconds

    def pass_answers(self, count: int) -> None:
        """Passes on so many more bytes of the server's answers, then cuts all connections."""
        self._answers_left = count

    def lose_answer(self, round_trips: int) -> None:
        """After so many more round trips, drops the first bytes of the next answer and cuts all
        connections: the server has done what it was asked, and the client does not learn it.
        """
        self._lost_round_trip = self.round_trips + round_trips

    def cut(self) -> None:
        """Resets all connections, at both ends."""
        with self._lock:
            ends, self._open = list(self._open), set()
        for end in ends:
            _reset(end)

    def close(self) -> None:
        """Cuts all connections and listens no more."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()
        self._accepting.join(_SERVER_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            if self.mode is Mode.REFUSE:
                _reset(client)
                continue
            try:
                server = socket.create_connection(self._server, timeout=_SERVER_SECONDS)
            except OSError:
                _reset(client)
                continue
            server.settimeout(None)
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._join, args=(client, server), daemon=True).start()

    def _join(self, client: socket.socket, server: socket.socket) -> None:
        """Pumps both ways until both have ended."""
        asking = threading.Thread(target=self._pump, args=(client, server, False), daemon=True)
        asking.start()
        self._pump(server, client, answers=True)
        asking.join()
        with self._lock:
            self._open -= {client, server}
        client.close()
        server.close()

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        sent = 0.0
        try:
            while data := source.recv(_CHUNK):
                if time.monotonic() > sent + self.delay_seconds:
                    time.sleep(self.delay_seconds)
                while self._holds_back(source):
                    time.sleep(_TICK_SECONDS)
                if self.mode is Mode.GARBLE:
                    data = bytes(byte ^ 0x5A for byte in data)
                if answers and self._is_last(data, target):
                    return
                with self._lock:
                    if not answers:
                        self._unanswered.add(source)
                    elif target in self._unanswered:
                        self._unanswered.discard(target)
                        self.round_trips += 1
                    self.passed += len(data)
                target.sendall(data)
                sent = time.monotonic()
            with self._lock:
                if source not in self._open:
                    raise ConnectionResetError  # it was cut, and must not seem to have ended
                target.shutdown(socket.SHUT_WR)
        except OSError:
            _reset(source)
            _reset(target)

    def _holds_back(self, source: socket.socket) -> bool:
        stalled = self.mode is Mode.SWALLOW or source in self._stalled
        return stalled and not self._closed and source.fileno() >= 0

    def _is_last(self, data: bytes, target: socket.socket) -> bool:
        """Returns whether the answers end here, after passing on what may still be."""
        with self._lock:
            left, lost = self._answers_left, self._lost_round_trip
            if lost is not None and self.round_trips >= lost and target in self._unanswered:
                self._lost_round_trip, left = None, 0
            if left is None or len(data) < left:
                self._answers_left = None if left is None else left - len(data)
                return False
            self._answers_left = None
        if left:
            target.sendall(data[:left])
            time.sleep(_TICK_SECONDS)  # so that it arrives before the reset does
        self.cut()
        return True


def _reset(end: socket.socket) -> None:
    """Closes a socket so that the other end learns at once that the connection is broken."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        end.shutdown(socket.SHUT_RD)
    end.close()
