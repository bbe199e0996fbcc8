"""The check of what excludes garbage collection and references from each other: sweeps, their
tombstones, pins.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from anabranch.keyvalue.contract import Expect, Write
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding, Mend
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.records.unreadable_records import printed_key
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS
from anabranch.versioning.staging.cleanup import discard

__all__ = ["CHECK", "check_collection_records"]

CHECK = "garbage collection"
_SWEEPS, _SWEEPS_KEY, _TOMBSTONES = "anabranch-sweeps", b"sweeps", "anabranch-sweeps/"
_PINS = "anabranch-pins"
_COUNTERS = {"", "#"}
_MAX_PIN_SECONDS = 86_400
"""Longer than any pin, from when it is written or renewed."""


class _Pin(msgspec.Struct, frozen=True):
    until: int


_PIN = msgspec.json.Decoder(_Pin)
_RECORD = msgspec.json.Decoder(dict[str, int])


def check_collection_records(inspected: Inspected, progress: Progress) -> Iterator[Finding]:
    """Yields tombstones of no sweep, which would refuse references for ever, and sweeps and pins
    that last longer than any may.
    """
    progress.begin("checking the records of garbage collection", 0)
    sweeps = _sweeps(inspected)
    latest = inspected.now + CLOCK_SKEW_SECONDS
    for sweep, until in sweeps.items():
        if sweep not in _COUNTERS and until > latest + LEASE_SECONDS:
            yield Finding(
                *(CHECK, "sweep_lasting", sweep),
                f"this sweep's lease ends at {until}, later than that of any sweep: is a clock "
                "wrong?",
            )
    for partition, rows in inspected.rows.items():
        sweep = partition.removeprefix(_TOMBSTONES)
        if partition.startswith(_TOMBSTONES) and sweep not in sweeps:
            yield Finding(
                *(CHECK, "tombstones_orphaned", partition),
                f"the sweep of these {rows} tombstones is in no record",
                Mend(
                    "put them on the list of what servers remove",
                    discard([partition], inspected.now),
                ),
            )
    for key, raw in inspected.store.scan(_PINS):
        progress.advance(1)
        try:
            until = _PIN.decode(raw).until
        except msgspec.MsgspecError:
            continue
        if until > latest + _MAX_PIN_SECONDS:
            yield Finding(
                *(CHECK, "pin_lasting", printed_key(key)),
                f"this pin ends at {until}, later than any may: its commits are kept until then",
                Mend("remove the pin", [Write(_PINS, key, None)], [Expect(_PINS, key, raw)]),
            )


def _sweeps(inspected: Inspected) -> dict[str, int]:
    raw = inspected.store.get(_SWEEPS, _SWEEPS_KEY)
    try:
        return {} if raw is None else _RECORD.decode(raw)
    except msgspec.MsgspecError:
        return {}
