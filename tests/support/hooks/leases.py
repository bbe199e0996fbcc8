"""The leases of runs of hooks, for tests of servers that are killed."""

from __future__ import annotations

from pathlib import Path

import msgspec

from anabranch.actions.runs.running import Running
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

__all__ = ["end_leases"]

_LEASES = "anabranch-running-actions"


def end_leases(data: Path) -> None:
    """Makes a minute pass for the runs of the server that was killed."""
    store = SQLiteStore(data / "metadata" / "metadata.db")
    for key, raw in list(store.scan(_LEASES)):
        running = msgspec.json.decode(raw, type=Running)
        ended = msgspec.structs.replace(running, until=0)
        store.apply([Write(_LEASES, key, msgspec.json.encode(ended))])
    store.close()
