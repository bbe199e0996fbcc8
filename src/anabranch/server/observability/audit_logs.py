"""The audit log that the settings ask for."""

from __future__ import annotations

from pathlib import Path

from anabranch.audit.file import AuditFile
from anabranch.audit.log import AuditLog, Sink
from anabranch.audit.streams import StandardOutput, Syslog
from anabranch.server.config.settings import Audit

__all__ = ["open_audit"]

_STANDARD_OUTPUT = "-"


def open_audit(settings: Audit) -> AuditLog | None:
    """Returns the audit log, None if the settings ask for none. Raises Invalid if it cannot be
    written.
    """
    sinks: list[Sink] = []
    if settings.file == _STANDARD_OUTPUT:
        sinks.append(StandardOutput())
    elif settings.file:
        sinks.append(
            AuditFile(
                Path(settings.file),
                max_bytes=settings.max_file_bytes,
                keep_files=settings.keep_files,
            )
        )
    if settings.syslog:
        sinks.append(Syslog(settings.syslog))
    return AuditLog(sinks) if sinks else None
