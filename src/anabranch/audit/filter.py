"""Which records of the audit log a search finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["RecordFilter"]

_EQUAL = ("user", "action", "operation", "source_ip", "request_id", "event")


class RecordFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on a record, of which empty ones hold for every record. `since` and `until` are
    times as the log writes them, `resource` is the beginning of one; `denied`: only what was.
    """

    user: str = ""
    action: str = ""
    operation: str = ""
    source_ip: str = ""
    request_id: str = ""
    event: str = ""
    resource: str = ""
    since: str = ""
    until: str = ""
    denied: bool = False

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Returns whether a record fulfils all conditions."""
        return (
            all(
                not getattr(self, name) or record.get(name) == getattr(self, name)
                for name in _EQUAL
            )
            and (not self.denied or record.get("allowed") is False)
            and str(record.get("resource", "")).startswith(self.resource)
            and (not self.since or self.since <= str(record.get("time", "")))
            and (not self.until or str(record.get("time", "")) < self.until)
        )
