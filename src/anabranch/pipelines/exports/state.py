"""What a place holds of which repository: written there, so that the next export brings only what
has changed, and one that was interrupted goes on.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from anabranch.errors import Corrupt
from anabranch.pipelines.exports.destination import Destination

__all__ = ["STATE", "State", "marker_of", "read_state", "state_bytes"]

STATE = "_anabranch_export.json"
"""Its name, at the top. Spark and Hive pass over names that begin so."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """`complete` is the commit whose objects are all there, "" for none. `attempts` are those that
    were begun since: paths that one of them changes may hold its objects. Of the last one all is
    there up to the path `after`; `marker` is the file that says that an export succeeded.
    """

    repository: str
    complete: str = ""
    attempts: tuple[str, ...] = ()
    after: str = ""
    marker: str = ""


def read_state(destination: Destination) -> State | None:
    """Returns what stands there, None if no export has been there. Raises Corrupt."""
    text = destination.read_note(STATE)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=State)
    except msgspec.MsgspecError as error:
        place = f"{destination.address.rstrip('/')}/{STATE}"
        raise Corrupt(
            f"{place}: not the state of an export: {error}",
            path=place,
            hint="Remove it; the next export then copies everything.",
        ) from error


def state_bytes(state: State) -> bytes:
    """Returns the state as it is written down."""
    return msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"


def marker_of(commit: str, now: float) -> str:
    """Returns the name of the file that says that a commit was exported, as lakeFS's exporter
    names it; `now` in seconds since 1970.
    """
    time = datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return f"EXPORT_{commit}_{time}_SUCCESS"
