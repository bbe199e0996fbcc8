"""The log of the server: one line for each event, on standard error."""

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
    """Formats a record as one JSON object, named as lakeFS names its fields."""

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
    """Returns the level with a name of the settings."""
    return _LEVELS[name]


def configure_logs(settings: Logging) -> None:
    """Sends this process's logs to standard error, with the format and level of the settings."""
    handler = logging.StreamHandler(sys.stderr)
    form = (
        _Json()
        if settings.format == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    )
    form.converter = time.gmtime
    form.default_time_format, form.default_msec_format = "%Y-%m-%dT%H:%M:%S", "%s.%03dZ"
    handler.setFormatter(form)
    level = level_of(settings.level)
    logging.basicConfig(handlers=[handler], level=level, force=True)
    # uvicorn logs its starts and stops, which only matter to its developers
    logging.getLogger("uvicorn").setLevel(max(level, logging.WARNING))
    logging.getLogger("asyncio").setLevel(max(level, logging.WARNING))
