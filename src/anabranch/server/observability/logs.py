"""Configuration of the server's log: one line for each event, on standard error."""

from __future__ import annotations

import logging
import sys
import time

import msgspec

from anabranch.server.config.settings import Logging

__all__ = ["configure_logs", "level_of"]

_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "NONE": logging.CRITICAL + 1,
}


class _Json(logging.Formatter):
    """Formats a record as one JSON object, with lakeFS's field names."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record as JSON."""
        fields = {
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            "time": self.formatTime(record),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(fields).decode()


def level_of(name: str) -> int:
    """Returns the logging level for a level name of the settings."""
    return _LEVELS[name]


def configure_logs(settings: Logging) -> None:
    """Sends this process's logs to standard error, in the configured format and level."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = (
        _Json()
        if settings.format == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    )
    formatter.converter = time.gmtime
    formatter.default_time_format, formatter.default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03dZ"
    handler.setFormatter(formatter)
    level = level_of(settings.level)
    logging.basicConfig(handlers=[handler], level=level, force=True)
    # uvicorn's and asyncio's messages on their own lifecycle are of no use to operators
    logging.getLogger("uvicorn").setLevel(max(level, logging.WARNING))
    logging.getLogger("asyncio").setLevel(max(level, logging.WARNING))
