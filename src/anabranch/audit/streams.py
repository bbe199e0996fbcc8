"""Audit logs on standard output and to syslog: each process writes a chain of its own."""

from __future__ import annotations

import logging
import logging.handlers
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from anabranch.audit.chain import FIRST, encode_line
from anabranch.errors import Invalid

__all__ = ["StandardOutput", "Syslog"]


class _Chain:
    """Encodes the records of one process. `writer` tells its lines from those of others."""

    def __init__(self) -> None:
        self._writer = secrets.token_hex(8)
        self._previous = FIRST

    def encode(self, record: Mapping[str, Any]) -> bytes:
        line, self._previous = encode_line({"writer": self._writer, **record}, self._previous)
        return line


class StandardOutput:
    """Writes records to standard output."""

    def __init__(self) -> None:
        self._chain = _Chain()

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Writes records in order. Raises OSError."""
        sys.stdout.buffer.write(b"".join(map(self._chain.encode, records)))
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Does nothing."""


class Syslog:
    """Sends records to syslog, at `/dev/log` or another socket, or at `HOST:PORT` by UDP. Raises
    Invalid for an address that cannot be used.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        try:
            target = address if address.startswith("/") else (host.strip("[]"), int(port))
            self._handler = _Handler(target, logging.handlers.SysLogHandler.LOG_AUTHPRIV)
        except (OSError, ValueError) as error:
            raise Invalid(
                f"audit.syslog: {address}: {error}",
                kind="invalid_settings",
                hint="Give a socket such as /dev/log, or HOST:PORT.",
            ) from error
        self._handler.ident = "anabranch-audit: "
        self._chain = _Chain()

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Sends records in order. Raises OSError."""
        for record in records:
            line = self._chain.encode(record).rstrip().decode()
            self._handler.emit(logging.LogRecord("audit", logging.INFO, "", 0, "%s", (line,), None))

    def close(self) -> None:
        """Closes the socket."""
        self._handler.close()


class _Handler(logging.handlers.SysLogHandler):
    """Raises errors; the standard library prints them instead."""

    append_nul = False

    def handleError(self, record: logging.LogRecord) -> NoReturn:  # noqa: N802  the library's name
        del record
        error = sys.exception()
        raise OSError(f"syslog: {error}") from error
