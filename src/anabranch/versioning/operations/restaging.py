"""How changes that a reset of a prefix or of one object has thrown away are staged again.

They return to the area that takes changes, each on condition that nothing else is staged at its
path: or what the reset has put there, where a change was in a sealed area.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.references.branch import Branch
from anabranch.versioning.operations.refusals import changed_since

__all__ = ["restaged"]

_BATCH = 1_000
_Rows = Sequence[tuple[bytes, bytes]]


def restaged(
    keyvalue: KeyValueStore, branch: Branch, discarded: Sequence[str]
) -> tuple[list[Write], list[Expect]]:
    """Returns the writes that stage what an operation has discarded, and their conditions. Raises
    Conflict if there are other changes at these paths. `discarded` are the areas of a change that
    is of some paths.
    """
    writes: list[Write] = []
    conditions: list[Expect] = []
    kept, overlays = discarded
    for rows in _batches(keyvalue, kept):
        keys = [key for key, _ in rows]
        overlaid = keyvalue.get_many(overlays, keys)
        areas = [keyvalue.get_many(token, keys) for token in branch.tokens]
        for number, (key, raw) in enumerate(rows):
            values = [area[number] for area in areas]
            newest = next((each for each in values if each is not None), None)
            if newest not in (None, overlaid[number], raw):
                # which path is not said: the user may not be allowed to read it
                raise changed_since(
                    "there are other changes now at paths that were reset",
                    "Commit them, or reset these paths again.",
                )
            writes.append(Write(branch.staging_token, key, raw))
            conditions.append(Expect(branch.staging_token, key, values[0]))
    return writes, conditions


def _batches(keyvalue: KeyValueStore, token: str) -> Iterator[_Rows]:
    start = b""
    while rows := list(keyvalue.scan(token, start, limit=_BATCH)):
        yield rows
        start = rows[-1][0] + b"\0"
