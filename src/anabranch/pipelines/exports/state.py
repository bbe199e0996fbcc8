"""State of an export, stored at its destination: the next export copies only what has changed, and
an interrupted export resumes.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from anabranch.errors import Corrupt
from anabranch.pipelines.exports.destination import Destination

__all__ = ["STATE", "State", "encode_state", "export_marker", "read_state"]

STATE = "_anabranch_export.json"
"""The file name of the state. Spark and Hive ignore names that begin with `_`."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """`complete` is the last commit whose export is complete, "" for none. `attempts` are the
    commits whose exports have started since then: their objects may be at the paths that they
    change. The last attempt is complete up to the path `after`. `marker` is the name of the file
    that marks the last success.
    """

    repository: str
    complete: str = ""
    attempts: tuple[str, ...] = ()
    after: str = ""
    marker: str = ""


_DECODER = msgspec.json.Decoder(State)


def read_state(destination: Destination) -> State | None:
    """Returns the state at a destination, None before the first export. Raises Corrupt."""
    text = destination.read_note(STATE)
    if text is None:
        return None
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError as error:
        path = f"{destination.address.rstrip('/')}/{STATE}"
        raise Corrupt(
            f"{path}: not the state of an export: {error}",
            path=path,
            hint="Remove the file; the next export then copies all objects.",
        ) from error


def encode_state(state: State) -> bytes:
    """Returns the contents of the state's file."""
    return msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"


def export_marker(commit: str, now: float) -> str:
    """Returns the name of the file that marks the successful export of a commit, as lakeFS's
    exporter names it; `now` is in seconds since 1970.
    """
    time = datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return f"EXPORT_{commit}_{time}_SUCCESS"
