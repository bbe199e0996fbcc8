"""The audit log that the settings ask for."""

from __future__ import annotations

from pathlib import Path

from anabranch.audit.file import AuditFile
from anabranch.audit.log import AuditLog, Sink
from anabranch.audit.streams import StandardOutput, Syslog
from anabranch.server.config.settings import Audit

__all__ = ["audit_file", "open_audit"]

_STANDARD_OUTPUT = "-"


def open_audit(settings: Audit) -> AuditLog | None:
    """Returns the audit log, None if the settings ask for none. Raises Invalid if it cannot be
    written.
    """
    sinks: list[Sink] = []
    path = audit_file(settings)
    if settings.file == _STANDARD_OUTPUT:
        sinks.append(StandardOutput())
    elif path is not None:
        sinks.append(
            AuditFile(
                path,
                max_bytes=settings.max_file_bytes,
                keep_files=settings.keep_files,
            )
        )
    if settings.syslog:
        sinks.append(Syslog(settings.syslog))
    return AuditLog(sinks) if sinks else None


def audit_file(settings: Audit) -> Path | None:
    """Returns the path of the audit log's file, None if it is written to none."""
    is_file = settings.file not in {"", _STANDARD_OUTPUT}
    return Path(settings.file) if is_file else None
